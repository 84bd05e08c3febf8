// Prints what Ignition makes of configs: a line of JSON for each line of JSON on standard input.
//
//	{"config": TEXT}                 -> {"errors": [PATH...]}: what ignition-validate refuses, as paths such as storage.files.0.mode;
//	                                    "$" is the config as a whole (no JSON, a wrong type, an unknown version)
//	{"config": TEXT, "child": TEXT}  -> the same with both, and when both are valid {"merged": CONFIG} of the newest stable specification
//
// `ignition-verdicts record PARTS SEED COUNT` makes configs itself, of the parts in that file, and prints what Ignition makes of them
// (see record.go); with `samples` in place of `record` it prints COUNT such configs alone, each a line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config"
	newest "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/report"
)

type question struct {
	Config string  `json:"config"`
	Child  *string `json:"child"`
}

type answer struct {
	Errors []string      `json:"errors"`
	Merged *types.Config `json:"merged,omitempty"`
}

// The paths of what Ignition refuses of a config.
func refused(text string) []string {
	_, found, err := config.Parse([]byte(text))
	paths := map[string]bool{}
	for _, entry := range found.Entries {
		if entry.Kind == report.Error {
			paths[strings.TrimPrefix(entry.Context.String(), "$.")] = true
		}
	}
	if err != nil && len(paths) == 0 {
		paths["$"] = true
	}
	sorted := []string{}
	for path := range paths {
		sorted = append(sorted, path)
	}
	sort.Strings(sorted)
	return sorted
}

func answerTo(asked question) (answer, error) {
	errors := refused(asked.Config)
	if asked.Child == nil {
		return answer{Errors: errors}, nil
	}
	errors = append(errors, refused(*asked.Child)...)
	if len(errors) > 0 {
		return answer{Errors: errors}, nil
	}
	parent, _, err := newest.ParseCompatibleVersion([]byte(asked.Config))
	if err != nil {
		return answer{}, err
	}
	child, _, err := newest.ParseCompatibleVersion([]byte(*asked.Child))
	if err != nil {
		return answer{}, err
	}
	merged := newest.Merge(parent, child)
	return answer{Errors: errors, Merged: &merged}, nil
}

func printer() *json.Encoder {
	printed := json.NewEncoder(os.Stdout)
	printed.SetEscapeHTML(false)
	return printed
}

func answerAll() error {
	printed := printer()
	for input := json.NewDecoder(os.Stdin); input.More(); {
		var asked question
		if err := input.Decode(&asked); err != nil {
			return err
		}
		given, err := answerTo(asked)
		if err != nil {
			return err
		}
		if err := printed.Encode(given); err != nil {
			return err
		}
	}
	return nil
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return answerAll()
	}
	if len(arguments) != 4 {
		return fmt.Errorf("usage: ignition-verdicts [record|samples PARTS SEED COUNT]")
	}
	parts, err := partsOf(arguments[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "record":
		return record(parts, seed, count)
	case "samples":
		return samples(parts, seed, count)
	}
	return fmt.Errorf("%q is neither record nor samples", arguments[0])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ignition-verdicts:", err)
		os.Exit(1)
	}
}
