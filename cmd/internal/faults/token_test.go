package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// graceOfTokens is longer than the service accepts an expired token.
const graceOfTokens = 35 * time.Second

// TestTokenExpiresInTheMiddle uploads for longer than the token of the login is valid.
func TestTokenExpiresInTheMiddle(t *testing.T) {
	testbed.Long(t)
	t.Parallel()
	s := newScene(t, "--access-life", "1s")
	name, size := filepath.Join(s.work, "long"), *long<<20
	must(t, os.WriteFile(name, nil, 0o644))
	must(t, os.Truncate(name, size))

	rate := fmt.Sprint(size / int64(graceOfTokens/time.Second))
	began := time.Now()
	code, out := s.run(s.command("", "cp", "--bwlimit", rate, "long", "/pfs/local/home/alice/long"))
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if took := time.Since(began); took < graceOfTokens-2*time.Second {
		t.Fatalf("%d MiB took %v only: no token can have expired", *long, took)
	}
	if code, out := s.run(s.command("", "verify", "long", "/pfs/local/home/alice/long")); code != 0 {
		t.Errorf("verify: exit %d\n%s", code, out)
	}
}
