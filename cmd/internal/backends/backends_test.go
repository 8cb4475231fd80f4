package backends

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		url string
		ok  bool
	}{
		{"file:///srv/pfs", true},
		{"file://localhost/srv/pfs", true},
		{"file:///srv/with%20space", true},
		{"mem:", true},
		{"", false},
		{"/srv/pfs", false},
		{"srv/pfs", false},
		{"file:", false},
		{"file:srv/pfs", false},
		{"file://otherhost/srv/pfs", false},
		{"file:///srv/pfs?x=1", false},
		{"file:///srv/#1", false},
		{"mem:x", false},
		{"mem://x", false},
		{"mem:///", false},
		{"s3://bucket", false},
		{"%zz", false},
	}
	for _, tt := range tests {
		err := Check(Spec{URL: tt.url})
		if (err == nil) != tt.ok || err != nil && pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("Check(%q) = %v, want ok %v", tt.url, err, tt.ok)
		}
	}
}

func TestOpen(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "a b#c?d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stores := []string{"mem:"}
	if runtime.GOOS == "linux" {
		stores = append(stores, FileURL(dir))
	}
	for _, url := range stores {
		store, err := Open(ctx, Spec{URL: url}, Caller{})
		if err != nil {
			t.Fatalf("Open(%q): %v", url, err)
		}
		if err := store.Mkdir(ctx, "/x", 0o755); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("%s: Close: %v", url, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "x")); runtime.GOOS == "linux" && (err != nil || !info.IsDir()) {
		t.Errorf("the directory made in the store is not in %s: %v", dir, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{FileURL(filepath.Join(dir, "missing")), FileURL(filepath.Join(dir, "file")), "nonsense"} {
		if _, err := Open(context.Background(), Spec{URL: url}, Caller{}); err == nil {
			t.Errorf("Open(%q) succeeded", url)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, url := range []string{"mem:", "file:///srv"} {
		err := Check(Spec{URL: url, Options: map[string]string{"replication": "3"}})
		if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), "replication") {
			t.Errorf("Check of %s with an option that it does not have: %v", url, err)
		}
	}
}

func TestFileURL(t *testing.T) {
	for dir, want := range map[string]string{"/srv/pfs": "file:///srv/pfs", "/a b": "file:///a%20b"} {
		if got := FileURL(dir); got != want {
			t.Errorf("FileURL(%q) = %q, want %q", dir, got, want)
		}
	}
}
