package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strings"
)

// The newest specification: the 6 of 3.6.0.
const newestMinor = 6

// A config without its version, or a text with VERSION in its place.
type part struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config"`
	Text   *string        `json:"text"`
	// With others its members would stand twice.
	Alone bool `json:"alone"`
}

func (one part) isSummand() bool { return one.Text == nil && !one.Alone }

// Parts as one config: objects by member, lists joined, of other values the last.
type sum struct {
	Parts []string `json:"parts"`
	Minor int      `json:"minor"`
}

// What Ignition refuses of the sum of these parts in each of these specifications.
type verdict struct {
	Parts  []string `json:"parts"`
	Minors []int    `json:"minors"`
	Errors []string `json:"errors"`
}

// What Ignition merges two sums to.
type union struct {
	Parent sum `json:"parent"`
	Child  sum `json:"child"`
	Merged any `json:"merged"`
}

func partsOf(file string) ([]part, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	parts := []part{}
	for decoder.More() {
		var next part
		if err := decoder.Decode(&next); err != nil {
			return nil, err
		}
		parts = append(parts, next)
	}
	return parts, nil
}

func joined(one, two any) any {
	if one, ok := one.(map[string]any); ok {
		if two, ok := two.(map[string]any); ok {
			both := map[string]any{}
			for name, value := range one {
				both[name] = value
			}
			for name, value := range two {
				if old, ok := both[name]; ok {
					value = joined(old, value)
				}
				both[name] = value
			}
			return both
		}
	}
	if one, ok := one.([]any); ok {
		if two, ok := two.([]any); ok {
			return append(append([]any{}, one...), two...)
		}
	}
	return two
}

func textOf(minor int, parts ...part) (string, error) {
	version := fmt.Sprintf("3.%d.0", minor)
	if len(parts) == 1 && parts[0].Text != nil {
		return strings.ReplaceAll(*parts[0].Text, "VERSION", version), nil
	}
	var all any = map[string]any{"ignition": map[string]any{"version": version}}
	for _, next := range parts {
		all = joined(all, any(next.Config))
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// The longest part of a union, bytes: long texts are for verdicts.
const longest = 1000

// A value without its empty objects, which Go writes for what is not set.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, inner := range value {
			inner = withoutEmpty(inner)
			if object, ok := inner.(map[string]any); !ok || len(object) > 0 {
				kept[name] = inner
			}
		}
		return kept
	case []any:
		for index, inner := range value {
			value[index] = withoutEmpty(inner)
		}
	}
	return value
}

func names(parts []part) []string {
	all := []string{}
	for _, next := range parts {
		all = append(all, next.Name)
	}
	return all
}

// A few of those that can be summed.
func some(chance *rand.Rand, from []part) []part {
	chosen := []part{}
	for number := 1 + chance.Intn(4); len(chosen) < number; {
		if one := from[chance.Intn(len(from))]; one.isSummand() {
			chosen = append(chosen, one)
		}
	}
	return chosen
}

// Prints sums, half of them of parts that are valid alone.
func samples(parts []part, seed int64, count int) error {
	chance := rand.New(rand.NewSource(seed))
	for index := range count {
		minor, from := chance.Intn(newestMinor+1), parts
		if index%2 == 0 {
			from = []part{}
			for _, one := range parts {
				text, err := textOf(minor, one)
				if err != nil {
					return err
				}
				if one.isSummand() && len(refused(text)) == 0 {
					from = append(from, one)
				}
			}
		}
		text, err := textOf(minor, some(chance, from)...)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}

// Prints a verdict for each part alone, and for COUNT sums of two to four parts; then COUNT unions of valid sums.
func record(parts []part, seed int64, count int) error {
	printed := printer()
	// By specification: what may stand in a valid sum.
	valid := make([][]part, newestMinor+1)
	for _, one := range parts {
		groups := []verdict{}
		for minor := 0; minor <= newestMinor; minor++ {
			text, err := textOf(minor, one)
			if err != nil {
				return err
			}
			errors := refused(text)
			if len(errors) == 0 && one.isSummand() && len(text) < longest {
				valid[minor] = append(valid[minor], one)
			}
			last := len(groups) - 1
			if last >= 0 && reflect.DeepEqual(groups[last].Errors, errors) {
				groups[last].Minors = append(groups[last].Minors, minor)
			} else {
				groups = append(groups, verdict{[]string{one.Name}, []int{minor}, errors})
			}
		}
		for _, group := range groups {
			if err := printed.Encode(group); err != nil {
				return err
			}
		}
	}
	chance := rand.New(rand.NewSource(seed))
	for range count {
		minor, chosen := chance.Intn(newestMinor+1), some(chance, parts)
		text, err := textOf(minor, chosen...)
		if err != nil {
			return err
		}
		if err := printed.Encode(verdict{names(chosen), []int{minor}, refused(text)}); err != nil {
			return err
		}
	}
	for made := 0; made < count; {
		parentMinor, childMinor := chance.Intn(newestMinor+1), chance.Intn(newestMinor+1)
		parent := some(chance, valid[parentMinor])
		child := some(chance, valid[childMinor])
		// The same part on both sides is where merging has something to decide.
		if chance.Intn(2) == 0 {
			child = append(child, parent[0])
		}
		parentText, err := textOf(parentMinor, parent...)
		if err != nil {
			return err
		}
		childText, err := textOf(childMinor, child...)
		if err != nil {
			return err
		}
		given, err := answerTo(question{Config: parentText, Child: &childText})
		if err != nil {
			return err
		}
		if given.Merged == nil {
			continue
		}
		made++
		text, err := json.Marshal(given.Merged)
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var merged any
		if err := decoder.Decode(&merged); err != nil {
			return err
		}
		if err := printed.Encode(union{sum{names(parent), parentMinor}, sum{names(child), childMinor}, withoutEmpty(merged)}); err != nil {
			return err
		}
	}
	return nil
}
