package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"referee.example/internal/referee"
)

// TestRulesInWords compares what is said of each preset with its golden file:
// whoever corrects a preset reads there what it now means.
func TestRulesInWords(t *testing.T) {
	presets, err := referee.LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	list := call(t.Context(), nil, "rules")
	if lines := strings.Split(list.out, "\n"); list.code != exitDone || len(lines) != len(presets.IDs())+1 {
		t.Errorf("%+v", list)
	}
	for _, id := range presets.IDs() {
		if !strings.Contains(list.out, id+" ") || !strings.Contains(list.out, presets.Get(id).Description) {
			t.Errorf("the list lacks %s", id)
		}
		got := call(t.Context(), nil, "rules", id)
		if got.code != exitDone {
			t.Errorf("%s: %+v", id, got)
		}
		compare(t, filepath.Join("testdata", "rules", id+".txt"), got.out)
	}
	composed := call(t.Context(), nil, "rules", "testdata/rush.json")
	if composed.code != exitDone || !strings.HasPrefix(composed.out, "a composed ruleset\n") || !strings.Contains(composed.out, "There is no clock.") {
		t.Errorf("%+v", composed)
	}
	for arguments, want := range map[string]string{"chess": `there are no rules "chess"`, "icga daily": "one ruleset at a time"} {
		got := call(t.Context(), nil, append([]string{"rules"}, strings.Fields(arguments)...)...)
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
}

// TestCheck runs the commands of testdata/check.json.
func TestCheck(t *testing.T) {
	var cases []struct {
		Arguments []string `json:"arguments"`
		Code      int      `json:"code"`
		Out       []string `json:"out"`
		Err       string   `json:"err"`
	}
	content, err := os.ReadFile("testdata/check.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(strings.Join(c.Arguments, " "), func(t *testing.T) {
			got := call(t.Context(), nil, append([]string{"check"}, c.Arguments...)...)
			want := strings.Join(append(c.Out, ""), "\n")
			if got.code != c.Code || got.out != want || !strings.Contains(got.err, c.Err) {
				t.Errorf("code %d, errors %q\n%s\nwant code %d, errors with %q\n%s", got.code, got.err, got.out, c.Code, c.Err, want)
			}
		})
	}
}

// TestImport judges the records of testdata/records.
func TestImport(t *testing.T) {
	files, err := filepath.Glob("testdata/records/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no records", err)
	}
	got := call(t.Context(), nil, append([]string{"import"}, files...)...)
	if got.code != exitFailed || !strings.Contains(got.err, "6 of 9 records refused") {
		t.Errorf("code %d, errors %q", got.code, got.err)
	}
	compare(t, "testdata/records.txt", got.out)
	for _, c := range []struct {
		arguments string
		code      int
		want      string
	}{
		{"testdata/records/nameless.txt --rules daily", exitDone, "nameless.txt: ok, 2 plies, unfinished\n"},
		{"testdata/records/army-composed.txt --rules junqi-dark", exitDone, "army-composed.txt: ok, 1 plies, seat 0 wins by resignation\n"},
		{"testdata/records/unknown.txt --rules testdata/rush.json", exitDone, "unknown.txt: ok, 1 plies, unfinished\n"},
		{"testdata/records/absent.txt", exitFailed, "no such file"},
		{"--rules chess testdata/records/nameless.txt", exitUsage, "there are no rules"},
		{"--rules testdata/unsound.json testdata/records/nameless.txt", exitFailed, "clock.turn_ms"},
		{"", exitUsage, "give the files of the records"},
	} {
		got := call(t.Context(), nil, append([]string{"import"}, strings.Fields(c.arguments)...)...)
		if got.code != c.code || !strings.Contains(got.out+got.err, c.want) {
			t.Errorf("import %s: %+v, want %q", c.arguments, got, c.want)
		}
	}
}
