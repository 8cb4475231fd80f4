package mounting

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestLogIsBounded checks that a log that processes append to is moved away when it is long.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "d", "log")
		log, err := openLog(name)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go boundLog(ctx, log, name)
		for range 3 {
			if _, err := log.Write(bytes.Repeat([]byte("x"), mostLog)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(logCheck + time.Second)
		}
		if _, err := log.WriteString("last\n"); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int64{name: mostLog + 5, name + ".old": 2 * mostLog} {
			if info, err := os.Stat(name); err != nil || info.Size() != want {
				t.Errorf("%v, %v; want %d bytes", info, err, want)
			}
		}
	})
}
