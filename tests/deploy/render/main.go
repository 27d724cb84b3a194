// Renders a Helm chart as Helm does: Go's templates with sprig, plus the few functions that Helm itself adds.
//
//	render CHART VALUES.json   writes the YAML documents to stdout
//
// Debian has no helm; it has Go and sprig, which are what a chart is written against.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	chart, values := os.Args[1], map[string]interface{}{}
	data, err := os.ReadFile(os.Args[2])
	fail(err)
	fail(json.Unmarshal(data, &values))
	about := map[string]interface{}{}
	data, err = os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	fail(err)
	fail(yaml.Unmarshal(data, &about))

	top := template.New("").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, scope interface{}) (string, error) {
		var out bytes.Buffer
		err := top.ExecuteTemplate(&out, name, scope)
		return out.String(), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		err := encoder.Encode(value)
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	top.Funcs(functions)

	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	fail(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail(err)
		_, err = top.New(filepath.Base(file)).Parse(string(text))
		fail(err)
	}
	scope := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": "test", "Namespace": "attribution", "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	for _, file := range files {
		name := filepath.Base(file)
		var out bytes.Buffer
		fail(top.ExecuteTemplate(&out, name, scope))
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(out.String()) != "" {
			fmt.Printf("---\n# from %s\n%s\n", name, out.String())
		}
	}
}
