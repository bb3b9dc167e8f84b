package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/telemetry"
	refereev1 "referee.example/proto/referee/v1"
)

// exposed reads the metrics and returns the names of those that are the referee's
// or its RPCs', with the labels of each.
func exposed(t *testing.T, handler http.Handler) (names []string, text string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	content, err := io.ReadAll(recorder.Result().Body)
	if err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", recorder.Code, err, content)
	}
	labels := map[string]map[string]bool{}
	sample := regexp.MustCompile(`^((?:referee|rpc)_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? `)
	label := regexp.MustCompile(`(\w+)="`)
	for line := range strings.Lines(string(content)) {
		found := sample.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if labels[found[1]] == nil {
			labels[found[1]] = map[string]bool{}
		}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			labels[found[1]][l[1]] = true
		}
	}
	for name, of := range labels {
		var all []string
		for l := range of {
			all = append(all, l)
		}
		sort.Strings(all)
		names = append(names, strings.TrimSpace(name+" "+strings.Join(all, " ")))
	}
	sort.Strings(names)
	return names, string(content)
}

// get asks an HTTP port.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestMetrics compares what a replica exposes after a played move with the list of
// metrics, and the dashboard and the alerts with what is exposed.
func TestMetrics(t *testing.T) {
	measured, err := telemetry.Start(t.Context(), "test", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	tt := newTable(t)
	tt.config.PlatformRate = 6 // none comes back for a sixth of a second
	a := tt.start(t, slog.New(slog.DiscardHandler))
	ctx := tt.context(t)
	client := refereev1.NewMatchServiceClient(dial(t, a))
	game := startGame(ctx, t, client, create(ctx, t, client, preset("7club-standard")).GetGame())
	game = flip(ctx, t, client, game, "a1")
	streamed(ctx, t, client, flipRequest(game, "b1"))
	for err := error(nil); status.Code(err) != codes.ResourceExhausted; { // one more than its platform may ask a second
		_, err = client.GetGame(ctx, &refereev1.GetGameRequest{MatchId: game.GetMatchId()})
		if code := status.Code(err); code != codes.OK && code != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}

	names, text := exposed(t, measured.Handler())
	golden := filepath.Join("testdata", "metrics.txt")
	list := strings.Join(names, "\n") + "\n"
	if *update {
		write(t, golden, []byte(list))
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if list != string(want) {
		t.Errorf("exposed:\n%s\nwant:\n%s", list, want)
	}
	for _, line := range []string{"referee_ready 1\n", `referee_commit_duration_seconds_count{outcome="committed"} 4` + "\n",
		`referee_shed_total{class="read",limit="rate"} 1` + "\n",
		`rpc_server_call_duration_seconds_count{rpc_method="referee.v1.MatchService/PlayAction",` +
			`rpc_response_status_code="OK",rpc_system_name="grpc"} 1` + "\n",
		`rpc_server_call_duration_seconds_count{rpc_method="referee.v1.MatchService/PlayActions",` + // a request, and the stream
			`rpc_response_status_code="OK",rpc_system_name="grpc"} 2` + "\n",
		`rpc_server_call_duration_seconds_count{rpc_method="referee.v1.MatchService/GetGame",` +
			`rpc_response_status_code="RESOURCE_EXHAUSTED",rpc_system_name="grpc"} 1` + "\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if strings.Contains(text, game.GetMatchId()) || strings.Contains(text, tt.token) {
		t.Error("the metrics name a match or a token")
	}

	a.Stop()
	if _, text := exposed(t, measured.Handler()); strings.Contains(text, "referee_ready") {
		t.Error("a stopped replica is still measured")
	}
	if err := measured.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	mentioned(t, names, "../../deploy/grafana/referee.json", "../../deploy/prometheus/referee.rules.yml")
}

// streamed plays an action on a stream of its own and waits for the stream's end.
func streamed(ctx context.Context, t *testing.T, client refereev1.MatchServiceClient, action *refereev1.PlayActionRequest) {
	t.Helper()
	stream, err := client.PlayActions(ctx)
	if err == nil {
		err = errors.Join(stream.Send(&refereev1.PlayActionsRequest{Play: action}), stream.CloseSend())
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil || answer.GetChange() == nil {
		t.Fatalf("%v, %v", answer, err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// mentioned checks that the files mention metrics that exist, and each of them all
// that a deployment has to watch.
func mentioned(t *testing.T, names []string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, name := range regexp.MustCompile(`\b(?:referee|rpc_server)_[a-z_]+`).FindAllString(string(content), -1) {
			found[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")] = true
		}
		for name := range found {
			if !slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasPrefix(n, name+" ") }) {
				t.Errorf("%s: there is no metric %s", path, name)
			}
		}
		for _, name := range []string{"referee_sweep_lag_seconds", "referee_commit_duration_seconds", "referee_clock_offset_seconds",
			"referee_clock_error_seconds", "referee_log_lag_seconds", "referee_log_unsigned", "referee_heartbeat_age_seconds", "referee_ready"} {
			if !found[name] {
				t.Error(fmt.Sprint(path, " lacks ", name))
			}
		}
	}
}
