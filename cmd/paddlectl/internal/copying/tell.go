package copying

import (
	"context"
	"fmt"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// NewEventJSON returns the JSON form of e.
func NewEventJSON(e transfer.Event) app.EventJSON {
	j := app.EventJSON{
		Event: e.Kind.String(), Path: app.LocalText(e.Path), Target: app.LocalText(e.Target), IsDir: e.IsDir,
		Files: e.Files, Resumed: e.Resumed, Digest: e.Digest, Reason: e.Reason.String(),
	}
	if e.Size >= 0 && !e.IsDir {
		j.Size = &e.Size
	}
	if e.Kind == transfer.Start || e.Kind == transfer.Progress || e.Kind == transfer.Done {
		j.Bytes = &e.Bytes
	}
	if e.Err != nil {
		j.Error, j.Code = e.Err.Error(), int(cliio.CodeOf(e.Err))
	}
	return j
}

// event prints an event of the transfer.
func (t *Transferring) event(ctx context.Context, e transfer.Event) {
	if t.O.JSON {
		t.App.JSON(NewEventJSON(e)) // an error appears when Out is flushed
	}
	switch e.Kind {
	case transfer.Start, transfer.Progress:
		t.Working(e)
	case transfer.Done:
		t.Working(e)
		t.line("copy", e)
	case transfer.Directory:
		t.line("mkdir", e)
	case transfer.Deleted:
		t.line("delete", e)
	case transfer.Skipped:
		t.skipped(ctx, e)
	case transfer.Failed:
		t.fail(ctx, e.Err)
	case transfer.Retry:
		TellRetry(t.App, e, t.O.Verbose)
	}
}

// TellRetry prints a retry with -v or --debug.
func TellRetry(a *app.App, e transfer.Event, verbose bool) {
	if verbose || a.Global.Debug {
		a.Message("trying again: %v", e.Err)
	}
}

// Working records the file that the progress bar names.
func (t *Transferring) Working(e transfer.Event) {
	name := string(e.Path)
	if name == "" {
		name = string(e.Target)
	}
	t.name.Store(&name)
}

// line prints an action, or with --dry-run an intended one.
func (t *Transferring) line(verb string, e transfer.Event) {
	text := verb + " " + app.LocalText(e.Target)
	if e.Path != "" && verb == "copy" {
		text = fmt.Sprintf("%s %s -> %s", verb, app.LocalText(e.Path), app.LocalText(e.Target))
	}
	if e.Files > 0 {
		text += fmt.Sprintf(" (%s)", app.Count(e.Files, "file", "files"))
	}
	switch {
	case t.O.DryRun && !t.O.JSON:
		t.App.Printf("%s\n", t.App.Name(text))
	case t.O.Verbose:
		t.App.Message("%s", text)
	}
}

func (t *Transferring) skipped(ctx context.Context, e transfer.Event) {
	asked := e.Reason == transfer.Link && t.O.skipLinks
	switch {
	case e.Reason == transfer.Exists && t.c != nil && t.c.Tops[e.Target] != "":
		t.refused++
		t.fail(ctx, pfs.Errorf("paddlectl.cp", e.Target, pfs.Exist, "not replaced"))
	case (e.Reason == transfer.Special || e.Reason == transfer.Link) && !asked:
		t.special++
		t.App.Message("%s: left out: %s", app.LocalText(e.Path), e.Reason)
	case t.O.Verbose:
		t.App.Message("skip %s: %s", app.LocalText(e.Path), e.Reason)
	}
}

// sumsJSON is the summary, the last line of --json.
type sumsJSON struct {
	Event        string  `json:"event"` // "summary"
	Files        int64   `json:"files"`
	Bytes        int64   `json:"bytes"`
	FilesDone    int64   `json:"files_done"`
	BytesMoved   int64   `json:"bytes_moved"`
	BytesResumed int64   `json:"bytes_resumed"`
	Dirs         int64   `json:"directories"`
	Skipped      int64   `json:"skipped"`
	LeftOut      int64   `json:"left_out"`
	Failed       int64   `json:"failed"`
	Deleted      int64   `json:"deleted"`
	Retries      int64   `json:"retries"`
	Seconds      float64 `json:"seconds"`
	Error        string  `json:"error,omitempty"`
}

func (t *Transferring) sums(err error) sumsJSON {
	s := t.Job.Stats()
	j := sumsJSON{
		Event: "summary", Files: s.Files, Bytes: s.Bytes, FilesDone: s.FilesDone, BytesMoved: moved(s),
		BytesResumed: s.BytesResumed, Dirs: s.Dirs, Skipped: s.Skipped, LeftOut: s.Omitted, Failed: s.Failed,
		Deleted: s.Deleted, Retries: s.Retries, Seconds: t.App.Now().Sub(t.Start).Seconds(),
	}
	switch {
	case err != nil && t.App.Stopped.Load():
		j.Error = cliio.Interrupted.String()
	case err != nil:
		j.Error = err.Error()
	}
	return j
}

// Summed prints the last line of --json for a copy that failed with err before it began, so that
// this line is never missing.
func Summed(a *app.App, o *Options, err error) error {
	if o.JSON && !o.summed && err != nil {
		a.JSON(sumsJSON{Event: "summary", Error: err.Error()})
	}
	return err
}

// summary returns the result of the copy in one line, or with --dry-run the intended result.
func (t *Transferring) summary() string {
	s := t.Job.Stats()
	text := fmt.Sprintf("%s, %s copied%s", app.Count(s.FilesDone, "file", "files"), cliio.Size(moved(s)), t.speed(moved(s)))
	skipped, omitted, deleted := "%d skipped", "%d left out", "%d deleted"
	if t.O.DryRun {
		text = fmt.Sprintf("would copy %s, %s", app.Count(s.FilesDone, "file", "files"), cliio.Size(moved(s)))
		skipped, omitted, deleted = "skip %d", "leave out %d", "delete %d"
	}
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.Skipped - int64(t.refused), skipped},
		{s.Omitted, omitted},
		{s.Deleted, deleted},
		{s.Failed + int64(t.refused), "%d failed"},
	} {
		if part.n > 0 {
			text += ", " + fmt.Sprintf(part.what, part.n)
		}
	}
	text += Left(s, "tried")
	if s.BytesResumed > 0 {
		text += fmt.Sprintf(", %s were already there", cliio.Size(s.BytesResumed))
	}
	return text
}

// Left returns the number of remaining files as text; done names what was not done with them,
// such as "tried".
func Left(s transfer.Stats, done string) string {
	switch n := s.Left(); {
	case !s.Complete && n == 0:
		return ", the rest not " + done
	case !s.Complete:
		return fmt.Sprintf(", at least %d not %s", n, done)
	case n > 0:
		return fmt.Sprintf(", %d not %s", n, done)
	}
	return ""
}

// speed returns the time and rate of moving bytes, or "" if the time was too short to measure.
func (t *Transferring) speed(bytes int64) string {
	const worthTelling = 100 * time.Millisecond
	elapsed := t.App.Now().Sub(t.Start)
	if bytes <= 0 || elapsed < worthTelling {
		return ""
	}
	return fmt.Sprintf(" in %.1f s (%s/s)", elapsed.Seconds(), cliio.Size(int64(float64(bytes)/elapsed.Seconds())))
}

// sayHowToGoOn prints the progress at an interrupt and how to resume.
func (t *Transferring) sayHowToGoOn() {
	t.App.Told = true
	if t.c == nil || t.c.Tops == nil {
		t.App.Message("interrupted: a stream cannot be resumed; nothing of it was kept")
		return
	}
	s := t.Job.Stats()
	of := "of"
	if !s.Complete {
		of = "of at least"
	}
	t.App.Message("interrupted: %d %s %s done; to resume, run the same command again",
		s.FilesDone+s.Skipped, of, app.Count(s.Files, "file", "files"))
	t.App.Hint(app.ShellLine(append([]string{t.App.Program}, t.App.Main.Args[1:]...)))
}
