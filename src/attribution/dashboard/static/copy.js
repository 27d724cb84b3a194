// Buttons that copy a name or a place. Without script the text can be selected, so there are none.

const SAID_MILLIS = 1500;

function button(target) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "copy";
  made.textContent = "copy";
  made.setAttribute("aria-label", `copy ${target.textContent}`);
  made.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(target.textContent);
      made.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(target);
      made.textContent = "selected";
    }
    setTimeout(() => { made.textContent = "copy"; }, SAID_MILLIS);
  });
  return made;
}

for (const target of document.querySelectorAll("[data-copy]")) {
  (target.closest("a") ?? target).after(button(target));
}
