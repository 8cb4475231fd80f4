package main

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// A flag without an effect is refused, and the message names the flag that it needs.
func TestShardFlagsWithoutEffect(t *testing.T) {
	fsys := newHome(t)
	for _, tt := range []struct{ flags, first, second string }{
		{"--seed 1", "--seed", "--shuffle"},
		{"--policy range --epoch 2", "--epoch", "--policy order"},
		{"--weight bytes", "--weight", "--policy lpt"},
		{"--as json", "--as", "--read"},
		{"--payload json", "--payload", "--read"},
		{"--limit 0", "--limit", "--read"},
		{"--read --as recordio --payload json", "--payload", "--as recordio"},
		{"--lists x --equal drop", "--equal drop", "--lists"},
	} {
		args := append([]string{"dataset", "shard", "--trainers", "1", "--trainer", "0"}, strings.Fields(tt.flags)...)
		got := run(t, testMain(t, fsys, append(args, home+"/none")...))
		if got.code != cliio.Usage || !strings.Contains(got.stderr, tt.first+" has no effect") || !strings.Contains(got.stderr, tt.second) {
			t.Errorf("%s: code %d, %q; want it to name %s and %s", tt.flags, got.code, got.stderr, tt.first, tt.second)
		}
	}
}

// Trainers and files that do not fit are refused.
func TestShardRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files string // names, of empty files
		flags string
		want  string
	}{
		{"missing", "part-00000-of-00003 part-00002-of-00003", "--trainers 2", "part-00001-of-00003"},
		{"duplicate", "part-00000-of-00002 part-0-of-2 part-00001-of-00002", "--trainers 2", "duplicate files"},
		{"stale", "part-00000-of-00002 part-00001-of-00002 part-00000-of-00003", "--trainers 2", "part-00000-of-00003"},
		{"few", "part-00000-of-00002 part-00001-of-00002", "--trainers 3", "3 trainers"},
		{"far too few", "part-00000-of-00002 part-00001-of-00002", "--trainers 9223372036854775807", "2 files for 9223372036854775807 trainers"},
		{"too few records", "part-00000-of-00002 part-00001-of-00002", "--policy range --trainers 9223372036854775807", "0 records for 9223372036854775807 trainers"},
		{"id", "part-00000-of-00002 part-00001-of-00002", "--trainers 2 --trainer 2", "id 2 of 2 trainers"},
	} {
		fsys := newHome(t)
		for name := range strings.FieldsSeq(tt.files) {
			pfstest.WriteFile(t, fsys, home+"/"+pfs.Path(name), nil)
		}
		args := append([]string{"dataset", "shard"}, strings.Fields(tt.flags)...)
		got := run(t, testMain(t, fsys, append(args, home+"/part-*")...))
		if got.code != cliio.Usage || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: code %d, %q; want it to name %s", tt.name, got.code, got.stderr, tt.want)
		}
	}
}
