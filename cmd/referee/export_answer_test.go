package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	refereev1 "referee.example/proto/referee/v1"
)

// liar is a server that streams what a test tells it.
type liar struct {
	refereev1.AuditServiceClient
	grpc.ServerStreamingClient[refereev1.ExportGamesResponse]
	answers []*refereev1.ExportGamesResponse
}

func (l *liar) ExportGames(context.Context, *refereev1.ExportGamesRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[refereev1.ExportGamesResponse], error) {
	return l, nil
}

func (l *liar) Recv() (*refereev1.ExportGamesResponse, error) {
	if len(l.answers) == 0 {
		return nil, io.EOF
	}
	next := l.answers[0]
	l.answers = l.answers[1:]
	return next, nil
}

// TestExportRefusesWrongAnswers: nothing of an answer that is not to the question
// is written.
func TestExportRefusesWrongAnswers(t *testing.T) {
	const asked, other = "019b76da-a800-7000-8000-000000000001", "019b76da-a800-7000-8000-000000000002"
	answer := func(match string, game uint32, line string) *refereev1.ExportGamesResponse {
		return &refereev1.ExportGamesResponse{MatchId: match, Game: game, Json: []byte(line)}
	}
	line := func(match, game string) string { return `{"match_id":"` + match + `","game":` + game + `}` }
	first := answer(asked, 1, line(asked, "1"))
	for name, test := range map[string]struct {
		answers []*refereev1.ExportGamesResponse
		want    string // empty for an export that is written
		lines   int
	}{
		"two games":                 {[]*refereev1.ExportGamesResponse{first, answer(asked, 0, line(asked, "0"))}, "", 2},
		"another match":             {[]*refereev1.ExportGamesResponse{first, answer(other, 1, line(other, "1"))}, "asked for was", 1},
		"another match in the line": {[]*refereev1.ExportGamesResponse{answer(asked, 1, line(other, "1"))}, "in the place of", 0},
		"another game in the line":  {[]*refereev1.ExportGamesResponse{answer(asked, 1, line(asked, "2"))}, "in the place of", 0},
		"game out of range":         {[]*refereev1.ExportGamesResponse{answer(asked, 65536, line(asked, "65536"))}, "from 0 to 65535", 0},
		"a game twice":              {[]*refereev1.ExportGamesResponse{first, first}, "twice", 1},
		"two lines":                 {[]*refereev1.ExportGamesResponse{answer(asked, 1, line(asked, "1")+"\n"+line(asked, "2"))}, "line's end", 0},
		"a carriage return":         {[]*refereev1.ExportGamesResponse{answer(asked, 1, line(asked, "1")+"\r")}, "line's end", 0},
		"no JSON":                   {[]*refereev1.ExportGamesResponse{answer(asked, 1, "x")}, "no JSON", 0},
		"text":                      {[]*refereev1.ExportGamesResponse{{MatchId: asked, Game: 1, Text: "Match: x"}}, "another form", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &exportCommand{match: asked}
			err := c.copy(t.Context(), &liar{answers: test.answers}, &refereev1.ExportGamesRequest{MatchId: asked},
				&streamSink{Writer: &out}, newProgress(io.Discard, nil, time.Now))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			if n := strings.Count(out.String(), "\n"); n != test.lines {
				t.Errorf("%d lines were written: %q", n, out.String())
			}
		})
	}
}
