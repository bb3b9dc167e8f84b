package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
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
	records, refused := 0, 0
	for _, file := range files {
		err := eachRecord(file, func(text string) {
			records++
			verdict, err := importRecord(presets, *name, text)
			if err != nil {
				refused++
				verdict = "refused: " + err.Error()
			}
			tell(call.out, "%s: %s\n", oneLine(file), oneLine(verdict))
		})
		if err != nil {
			records++
			refused++
			tell(call.out, "%s: refused: %s\n", oneLine(file), oneLine(err.Error()))
		}
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d records refused", refused, records)
	}
	return nil
}

func importRecord(presets referee.Presets, name, text string) (verdict string, err error) {
	named := cmp.Or(name, headerRuleset(text))
	switch {
	case named == "":
		return "", errors.New(`no header line "Ruleset:" names the rules: set --rules`)
	case name == "" && presets.Get(named) == nil: // it does not tell which family's record this is either
		return "", fmt.Errorf("its header names the rules %q, which are no preset: set --rules", named)
	}
	r, err := rulesNamed(presets, named)
	if err != nil {
		return "", err
	}
	if game := r.ArmyChessGame(); game != nil {
		return importArmyRecord(game, text)
	}
	record, err := banqi.ParseRecord(text)
	if err != nil {
		return "", err
	}
	v, err := r.CheckRecord(&record)
	if err != nil {
		return "", err
	}
	return describeVerdict(&record, &v), nil
}

// headerRuleset is what a record's header names as its rules, empty for nothing.
func headerRuleset(text string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(key), "ruleset") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func importArmyRecord(game *junqi.Game, text string) (verdict string, err error) {
	record, err := junqi.ParseTextRecord(text)
	if err != nil {
		return "", err
	}
	v, err := game.CheckTextRecord(record)
	if err != nil {
		return "", err
	}
	verdict = fmt.Sprintf("ok, %d plies, %s", v.State.Ply(), record.Result)
	if !v.Proven {
		verdict += " as the record says: no ply shows it"
	}
	return verdict, nil
}

// eachRecord hands over the records of a file one by one. A file of several is
// what referee export writes: each begins with a line "Match:" after the result of
// the one before.
func eachRecord(name string, each func(text string)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReader(file)
	var text strings.Builder
	ended := false
	for {
		line, err := lines.ReadString('\n')
		if ended && strings.HasPrefix(line, "Match:") {
			each(text.String())
			text.Reset()
			ended = false
		}
		ended = ended || strings.HasPrefix(line, "Result:")
		text.WriteString(line)
		if text.Len() > banqi.MaxRecordLength || errors.Is(err, io.EOF) {
			each(text.String()) // too long a one is refused as such
			return nil
		}
		if err != nil {
			return err
		}
	}
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
