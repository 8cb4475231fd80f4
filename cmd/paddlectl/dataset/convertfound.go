package dataset

import (
	"context"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// foundSet is what a directory holds of a dataset.
type foundSet struct {
	dir      transfer.End
	name     string
	manifest bool
	shards   []string         // sorted
	sizes    map[string]int64 // of the shards that are regular files, by name
}

// findSet looks for the dataset name in dir.
func findSet(ctx context.Context, dir transfer.End, name string) (*foundSet, error) {
	s := &foundSet{dir: dir, name: name, sizes: map[string]int64{}}
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, nil) {
		switch {
		case err != nil:
			return nil, err
		case e.Name == manifest.FileName(name):
			s.manifest = true
		case isShardOf(e.Name, name):
			s.shards = append(s.shards, e.Name)
			if e.IsRegular() {
				s.sizes[e.Name] = e.Size
			}
		}
	}
	slices.Sort(s.shards)
	return s, nil
}

// isShardOf reports whether file has the form of the names of the shards of a
// dataset: NAME-00001 or NAME-00001-of-00010.
func isShardOf(file, dataset string) bool {
	rest, ok := strings.CutPrefix(file, dataset+"-")
	number, total, of := strings.Cut(rest, "-of-")
	return ok && isDigits(number) && (!of || isDigits(total))
}

// isDigits reports whether s is a number as names of shards have it.
func isDigits(s string) bool { return len(s) >= 5 && strings.Trim(s, "0123456789") == "" }

// withdraw removes the manifest of the set and then its shards that no new one
// replaces, so that the set is never taken for complete, nor mixed with the new.
func (s *foundSet) withdraw(ctx context.Context, replaced []manifest.Shard) error {
	if s.manifest {
		if err := s.dir.FS.Remove(ctx, s.dir.Path.Join(manifest.FileName(s.name))); err != nil && !app.IsMissing(err) {
			return err
		}
	}
	stay := map[string]bool{}
	for _, n := range replaced {
		stay[n.Name] = true
	}
	for _, name := range s.shards {
		if stay[name] {
			continue
		}
		if err := s.dir.FS.Remove(ctx, s.dir.Path.Join(name)); err != nil && !app.IsMissing(err) {
			return err
		}
	}
	return nil
}
