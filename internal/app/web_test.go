package app

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// exampleCurl finds the documentation's call over HTTP: its body and its path.
var exampleCurl = regexp.MustCompile("(?s)```sh\ncurl [^`]*?-d '([^']+)'[^`]*?localhost:8080(/\\S+)\n```")

// TestDocumentedCurl makes the documentation's call over HTTP, and sees the port end with
// the replica.
func TestDocumentedCurl(t *testing.T) {
	text, err := os.ReadFile("../../docs/integration.md")
	if err != nil {
		t.Fatal(err)
	}
	found := exampleCurl.FindSubmatch(text)
	if found == nil {
		t.Fatal("the documentation has no example call by curl")
	}
	tt := newTable(t)
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	tt.config.HTTPListen = "127.0.0.1:0"
	a := tt.start(t, slog.New(slog.DiscardHandler))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.HTTPAddr()+string(found[2]), strings.NewReader(string(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+tt.token)
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"entryMinimum":"900"`) {
		t.Errorf("got %s, %s, %v", response.Status, body, err)
	}
	a.Stop()
	response, err = client.Do(request.Clone(t.Context()))
	if err == nil {
		_ = response.Body.Close()
		t.Error("the port is still open")
	}
}
