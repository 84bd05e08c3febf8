#!/usr/bin/env bash
# clusterctl's variables look as the shell's, and are others: of one name each place has its own default, and an operator without a value is none.
#
# Expected: `${A:=x} ${A}` gives x twice, as in a shell and as the first place declares; `${A:=}` is an empty default; `${A:+x}` is x where A is set.
# Seen: the second ${A} is empty without a word, since some place has a default; in the other order the template is refused. `${A:=}` is refused as not set;
# what holds is `${A:=""}`. `${A:+x}` is a default, too. `${A:0:2}` and `${A%.*}` pass for names with a default: unset, they are empty. A name in a
# comment has to be given. A default ends at the first brace: `${A:={}}` adds one to a value that is given.
# Needs Go; builds clusterctl's own package of templates, Cluster API 1.14.2.
. "$(dirname "$0")/lib/clusterctl.sh"
program <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// Reads templates, one in each line, and prints each with A as in the environment.
func main() {
	processor := yamlprocessor.NewSimpleProcessor()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		made, err := processor.Process(lines.Bytes(), func(name string) (string, error) {
			if value, found := os.LookupEnv(name); found {
				return value, nil
			}
			return "", fmt.Errorf("%s is not there", name)
		})
		if err != nil {
			fmt.Printf("%s -> refused\n", lines.Text())
		} else {
			fmt.Printf("%s -> %s\n", lines.Text(), made)
		}
	}
}
GO

check() { # TEMPLATES EXPECTED
  local seen
  seen=$("$program" <<< "$1")
  echo "$seen" | sed 's/^/  /'
  [ "$seen" = "$2" ] || { echo "this has changed; before:" >&2; echo "$2" >&2; exit 1; }
}

# Not for this shell.
# shellcheck disable=SC2016
templates='one: ${A:=x}, two: ${A}.
one: ${A}, two: ${A:=x}.
# ${A}
${A:=}.
${A:=""}.
${A:+x}.
${A:0:2}.
${A%.*}.
${A:={}}.
$${A} \${A} $A.'
echo "clusterctl $version, without A"
unset A
# shellcheck disable=SC2016
check "$templates" 'one: ${A:=x}, two: ${A}. -> one: x, two: .
one: ${A}, two: ${A:=x}. -> refused
# ${A} -> refused
${A:=}. -> refused
${A:=""}. -> "".
${A:+x}. -> x.
${A:0:2}. -> .
${A%.*}. -> .
${A:={}}. -> {}.
$${A} \${A} $A. -> refused'
echo "clusterctl $version, with A=1.34"
export A=1.34
# shellcheck disable=SC2016
check "$templates" 'one: ${A:=x}, two: ${A}. -> one: 1.34, two: 1.34.
one: ${A}, two: ${A:=x}. -> one: 1.34, two: 1.34.
# ${A} -> # 1.34
${A:=}. -> 1.34.
${A:=""}. -> 1.34.
${A:+x}. -> 1.34.
${A:0:2}. -> 1..
${A%.*}. -> 1.
${A:={}}. -> 1.34}.
$${A} \${A} $A. -> ${A} \1.34 $A.'
