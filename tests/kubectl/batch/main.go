// Renders many folders in one process, by the very code that `kubectl kustomize` runs: the same
// package at the same version, with the options that kubectl gives it.
//
// Reads folders from standard input, one a line; writes one line of JSON for each: its objects in
// the order in which kubectl prints them, or why there are none.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	// Kustomize reads its own version off this package, for `managedByLabel`.
	_ "sigs.k8s.io/kustomize/kustomize/v5/commands/build"
)

type outcome struct {
	Folder  string            `json:"folder"`
	Objects []json.RawMessage `json:"objects"`
	Error   string            `json:"error,omitempty"`
}

func main() {
	log.SetFlags(0)
	folders := bufio.NewScanner(os.Stdin)
	results := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(results)
	for folders.Scan() {
		folder := folders.Text()
		result := outcome{Folder: folder, Objects: []json.RawMessage{}}
		objects, err := render(folder)
		if err != nil {
			result.Error = err.Error()
		} else {
			result.Objects = objects
		}
		if err := encoder.Encode(result); err != nil {
			log.Fatal(err)
		}
		if err := results.Flush(); err != nil {
			log.Fatal(err)
		}
	}
	if err := folders.Err(); err != nil {
		log.Fatal(err)
	}
}

// render renders as kubectl does; where a file lies outside its kustomization's folder, without the
// load restrictor.
func render(folder string) ([]json.RawMessage, error) {
	objects, err := renderWith(folder, types.LoadRestrictionsRootOnly)
	if err != nil && strings.Contains(err.Error(), "is not in or below") {
		return renderWith(folder, types.LoadRestrictionsNone)
	}
	return objects, err
}

func renderWith(folder string, restrictions types.LoadRestrictions) (objects []json.RawMessage, err error) {
	objects = []json.RawMessage{}
	// What ends kubectl ends one folder here.
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	// A schema of one's own stays loaded: every folder begins without, like a process of its own.
	openapi.ResetOpenAPI()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = restrictions
	options.Reorder = krusty.ReorderOptionUnspecified
	kustomizer := krusty.MakeKustomizer(options)
	rendered, err := kustomizer.Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		// As kubectl apply would read what kubectl kustomize prints.
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}
