package referee

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// An ID reads as a UUID is written: 8-4-4-4-12 digits.
func TestIDString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		hex := fmt.Sprintf("%x", id[:])
		want := hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]
		if got := id.String(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
