// Prints what generic programs make of objects: a line of JSON for each line of JSON on standard input.
//
//	{"object": OBJECT, "lua": TEXT}  -> {"kstatus": {"status", "message"}, "argo": {"status", "message"}}
//
// kstatus is the package of that name (Flux, kpt and others call it). `lua` is a health check of Argo CD's, which is run as Argo CD runs it: by
// gopher-lua, without libraries that reach the system, with the object in the global obj. Without it there is no "argo".
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Object unstructured.Unstructured `json:"object"`
	Lua    string                    `json:"lua"`
}

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type answer struct {
	Kstatus verdict  `json:"kstatus"`
	Argo    *verdict `json:"argo,omitempty"`
}

func byKstatus(object *unstructured.Unstructured) (verdict, error) {
	found, err := status.Compute(object)
	if err != nil {
		return verdict{}, err
	}
	return verdict{Status: found.Status.String(), Message: found.Message}, nil
}

func byArgo(script string, object map[string]any) (*verdict, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// The first is needed by the others.
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		open := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(open, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	state.SetGlobal("obj", decoded(state, object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, errors.New("the health check returns no table")
	}
	return &verdict{Status: text(table, "status"), Message: text(table, "message")}, nil
}

func text(table *lua.LTable, key string) string {
	if value, ok := table.RawGetString(key).(lua.LString); ok {
		return string(value)
	}
	return ""
}

func decoded(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, one := range value {
			table.Append(decoded(state, one))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, one := range value {
			table.RawSetString(key, decoded(state, one))
		}
		return table
	}
	return lua.LNil
}

func answerAll() error {
	printed := json.NewEncoder(os.Stdout)
	printed.SetEscapeHTML(false)
	for input := json.NewDecoder(os.Stdin); input.More(); {
		var asked question
		if err := input.Decode(&asked); err != nil {
			return err
		}
		name := asked.Object.GetKind() + " " + asked.Object.GetName()
		kstatus, err := byKstatus(&asked.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		given := answer{Kstatus: kstatus}
		if asked.Lua != "" {
			if given.Argo, err = byArgo(asked.Lua, asked.Object.Object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := printed.Encode(given); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := answerAll(); err != nil {
		fmt.Fprintln(os.Stderr, "health-verdicts:", err)
		os.Exit(1)
	}
}
