package files

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// movingName is the file in a directory that says what it is to become: the source of
// the move between stores that has made it, and has not ended. Without it the same
// command run again would take the directory for one to move something into.
const movingName = ".paddlectl-moving"

// longestPath is more than what can stand in that file.
const longestPath = 64 << 10

// unfinished returns the source of the move that has made the directory dir and has not
// ended; "" if there is none.
func unfinished(ctx context.Context, dir transfer.End) (pfs.Path, error) {
	text, err := app.ReadSmall(ctx, dir.FS, dir.Path.Join(movingName), longestPath)
	if app.IsMissing(err) || errors.Is(err, pfs.NotDir) {
		return "", nil
	}
	return pfs.Path(strings.TrimSuffix(string(text), "\n")), err
}

// goOn finds out whether DEST is there because the same move was interrupted.
func (m *mover) goOn(ctx context.Context, from app.Operand) error {
	if !m.to.IsDir || m.to.Many || m.to.Slash {
		return nil
	}
	source, err := unfinished(ctx, m.to.End)
	if err == nil && source == from.Path {
		m.to.IsDir, m.again = false, true
	}
	return err
}

// begin makes the directory that t becomes on another store. What it leaves when it is
// cut off, the next one goes on with.
func (m *mover) begin(ctx context.Context, t app.Target, to transfer.End) error {
	switch source, err := unfinished(ctx, t.End()); {
	case err != nil:
		return err
	case source != "":
		return app.WithHint(pfs.Errorf("paddlectl.mv", t.Path, pfs.Conflict, "it is what a move of %s has made, which has not ended", source), m.a.Program+" mv "+app.ShellWord(string(source))+" "+app.ShellWord(string(t.Path))+" ends it")
	}
	if m.again {
		return nil
	}
	// It has its name when it has its mark.
	dir := to.Path.Parent().Join(movingName + "-" + to.Path.Base())
	if err := to.FS.Mkdir(ctx, dir, 0o755); err != nil {
		return pfs.E("paddlectl.mv", to.Path, pfs.KindOf(err), err)
	}
	mark := pfs.BatchEntry{Path: dir.Join(movingName), Mode: 0o644, Data: []byte(t.Path + "\n")}
	if err := pfs.WriteBatch(ctx, to.FS, []pfs.BatchEntry{mark})[0]; err != nil {
		return err
	}
	return to.FS.Rename(ctx, dir, to.Path)
}

// end takes the mark of begin away, once nothing of the source is left.
func (m *mover) end(ctx context.Context, to transfer.End) error {
	err := to.FS.Remove(ctx, to.Path.Join(movingName))
	if app.IsMissing(err) {
		return nil
	}
	return err
}
