package files

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// reserving is a store of 100 bytes that keeps 20 of them back.
type reserving struct{ *memfs.FS }

func (reserving) Space(context.Context, pfs.Path) (pfs.Space, error) {
	return pfs.Space{Total: 100, Used: 60, Free: 20}, nil
}

// TestDfOfAStoreThatKeepsRoomBack: that is not used, and not available.
func TestDfOfAStoreThatKeepsRoomBack(t *testing.T) {
	for _, c := range []struct {
		json bool
		want string
	}{
		{false, "100 60 20 75% /pfs/dc/home"},
		{true, `{"path":"/pfs/dc/home","total":100,"used":60,"free":20}`},
	} {
		var out bytes.Buffer
		f := &df{a: app.New(&app.Main{Stdout: &out}), o: dfOptions{json: c.json}}
		if err := f.target(t.Context(), app.Target{FS: reserving{memfs.New(memfs.Options{})}, Path: "/pfs/dc/home"}); err != nil {
			t.Fatal(err)
		}
		if err := f.a.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
