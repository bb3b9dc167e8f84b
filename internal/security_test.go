package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAttacksHaveTests: each test that SECURITY.md names is there.
func TestAttacksHaveTests(t *testing.T) {
	content, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(internal/[a-z/]+|cmd/referee) (Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(content), -1)
	if len(named) < 30 {
		t.Errorf("only %d tests are named", len(named))
	}
	tests := map[string]string{} // by folder, the text of its tests
	for _, n := range named {
		folder, test := n[1], n[2]
		if tests[folder] == "" {
			files, _ := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tests[folder] += string(text)
			}
		}
		if !strings.Contains(tests[folder], "\nfunc "+test+"(t *testing.T) {") {
			t.Errorf("%s has no %s", folder, test)
		}
	}
}
