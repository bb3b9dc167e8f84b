package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
)

// importRecords replays text records and judges the results they claim.
func importRecords(_ context.Context, call invocation) error {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	name := flags.String("rules", "", rulesUsage+"; by default what a record's header line \"Ruleset:\" names")
	files, err := call.parseWith(flags, " FILE...")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return &usageError{"give the files of the records"}
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		return err
	}
	if *name != "" {
		if _, err := rulesNamed(presets, *name); err != nil {
			return err
		}
	}
	refused := 0
	for _, file := range files {
		verdict, err := importRecord(presets, *name, file)
		if err != nil {
			refused++
			verdict = "refused: " + err.Error()
		}
		tell(call.out, "%s: %s\n", oneLine(file), oneLine(verdict))
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d records refused", refused, len(files))
	}
	return nil
}

func importRecord(presets referee.Presets, name, file string) (verdict string, err error) {
	text, err := readRecord(file)
	if err != nil {
		return "", err
	}
	record, err := banqi.ParseRecord(text)
	if err != nil {
		return "", err
	}
	if name == "" {
		if name = record.HeaderValue("ruleset"); name == "" {
			return "", errors.New(`no header line "Ruleset:" names the rules: set --rules`)
		}
		if presets.Get(name) == nil {
			return "", fmt.Errorf("its header names the rules %q, which are no preset: set --rules", name)
		}
	}
	r, err := rulesNamed(presets, name)
	if err != nil {
		return "", err
	}
	v, err := r.CheckRecord(&record)
	if err != nil {
		return "", err
	}
	return describeVerdict(&record, &v), nil
}

// readRecord reads a file, but not much more than a record may be long.
func readRecord(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, banqi.MaxRecordLength+1))
	return string(text), err
}

func describeVerdict(record *banqi.Record, v *banqi.RecordVerdict) string {
	o := v.State.Outcome()
	text := fmt.Sprintf("ok, %d plies, %s", v.State.Ply(), banqi.ResultOf(o, 0))
	if o.LastPly > 0 {
		text += fmt.Sprintf(", proved by plies %d to %d", o.FirstPly, o.LastPly)
	}
	if !v.Proven {
		text = fmt.Sprintf("ok, %d plies, %s as the record says: no ply shows it", v.State.Ply(), record.Result)
	}
	if len(v.Merits) > 0 {
		text += "; great merit at ply " + strings.Trim(fmt.Sprint(v.Merits), "[]")
	}
	return text
}
