package main

import (
	"context"
	"fmt"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// eventJSON is how --json shows an event.
type eventJSON struct {
	Event   string `json:"event"`
	Path    string `json:"path,omitempty"`
	Target  string `json:"target,omitempty"`
	Mode    string `json:"mode,omitempty"`
	IsDir   bool   `json:"directory,omitempty"`
	Size    *int64 `json:"size,omitempty"`
	Bytes   *int64 `json:"bytes,omitempty"`
	Files   int64  `json:"files,omitempty"`
	Resumed int64  `json:"resumed,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    int    `json:"code,omitempty"` // exit code that the error alone would have
}

func newEventJSON(e transfer.Event) eventJSON {
	j := eventJSON{
		Event: e.Kind.String(), Path: localText(e.Path), Target: localText(e.Target), IsDir: e.IsDir,
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

// event is told by the transfer what happens.
func (t *transferring) event(ctx context.Context, e transfer.Event) {
	if t.o.json {
		t.d.out.JSON(newEventJSON(e)) // an error shows when Out is flushed
	}
	switch e.Kind {
	case transfer.Start, transfer.Progress:
		t.working(e)
	case transfer.Done:
		t.working(e)
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
		t.d.tellRetry(e, t.o.verbose)
	}
}

// tellRetry tells with -v or --debug what is tried again, and else what is waited for.
func (d *deps) tellRetry(e transfer.Event, verbose bool) {
	if verbose || d.global.debug {
		d.out.Message("trying again: %v", e.Err)
		return
	}
	d.waiting.retry(e.Waited, e.Err)
}

// working notes what the progress bar names.
func (t *transferring) working(e transfer.Event) {
	name := string(e.Path)
	if name == "" {
		name = string(e.Target)
	}
	t.name.Store(&name)
}

// line tells of something done, or with --dry-run of what would be.
func (t *transferring) line(verb string, e transfer.Event) {
	text := verb + " " + localText(e.Target)
	if e.Path != "" && verb == "copy" {
		text = fmt.Sprintf("%s %s -> %s", verb, localText(e.Path), localText(e.Target))
	}
	if e.Files > 0 {
		text += fmt.Sprintf(" (%s)", count(e.Files, "file", "files"))
	}
	switch {
	case t.o.dryRun && !t.o.json:
		t.d.out.Printf("%s\n", t.d.out.Name(text))
	case t.o.verbose:
		t.d.out.Message("%s", text)
	}
}

func (t *transferring) skipped(ctx context.Context, e transfer.Event) {
	asked := e.Reason == transfer.Link && t.o.skipLinks
	switch {
	case e.Reason == transfer.Exists && t.c != nil && t.c.tops[e.Target] != "":
		t.refused++
		t.fail(ctx, pfs.Errorf("paddlectl.cp", e.Target, pfs.Exist, "not replaced"))
	case (e.Reason == transfer.Special || e.Reason == transfer.Link) && !asked:
		t.special++
		t.d.out.Message("%s: left out: %s", localText(e.Path), e.Reason)
	case t.o.verbose:
		t.d.out.Message("skip %s: %s", localText(e.Path), e.Reason)
	}
}

// sumsJSON is the last line of --json.
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

func (t *transferring) sums(err error) sumsJSON {
	s := t.job.Stats()
	j := sumsJSON{
		Event: "summary", Files: s.Files, Bytes: s.Bytes, FilesDone: s.FilesDone, BytesMoved: moved(s),
		BytesResumed: s.BytesResumed, Dirs: s.Dirs, Skipped: s.Skipped, LeftOut: s.Omitted, Failed: s.Failed,
		Deleted: s.Deleted, Retries: s.Retries, Seconds: t.d.now().Sub(t.start).Seconds(),
	}
	switch {
	case err != nil && t.d.stopped.Load():
		j.Error = cliio.Interrupted.String()
	case err != nil:
		j.Error = err.Error()
	}
	return j
}

// summed writes the last line of --json for a copy that failed with err before it
// began, so that there is one always.
func (d *deps) summed(o *copyOptions, err error) error {
	if o.json && !o.summed && err != nil {
		d.out.JSON(sumsJSON{Event: "summary", Error: err.Error()})
	}
	return err
}

// summary says in one line what was done, or with --dry-run what would be.
func (t *transferring) summary() string {
	s := t.job.Stats()
	text := fmt.Sprintf("%s, %s copied%s", count(s.FilesDone, "file", "files"), cliio.Size(moved(s)), t.speed(moved(s)))
	skipped, omitted, deleted := "%d skipped", "%d left out", "%d deleted"
	if t.o.dryRun {
		text = fmt.Sprintf("would copy %s, %s", count(s.FilesDone, "file", "files"), cliio.Size(moved(s)))
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
	text += left(s, "tried")
	if s.BytesResumed > 0 {
		text += fmt.Sprintf(", %s were there from before", cliio.Size(s.BytesResumed))
	}
	return text
}

// left says how many files were not done; done is what that means, such as "tried".
func left(s transfer.Stats, done string) string {
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

// speed tells how long it took to move so many bytes, if it was long enough to tell.
func (t *transferring) speed(bytes int64) string {
	const worthTelling = 100 * time.Millisecond
	elapsed := t.d.now().Sub(t.start)
	if bytes <= 0 || elapsed < worthTelling {
		return ""
	}
	return fmt.Sprintf(" in %.1f s (%s/s)", elapsed.Seconds(), cliio.Size(int64(float64(bytes)/elapsed.Seconds())))
}

// sayHowToGoOn tells what an interrupt has left and which command goes on.
func (t *transferring) sayHowToGoOn() {
	t.d.told = true
	if t.c == nil || t.c.tops == nil {
		t.d.out.Message("interrupted: a stream cannot go on, nothing of it was kept")
		return
	}
	s := t.job.Stats()
	of := "of"
	if !s.Complete {
		of = "of at least"
	}
	t.d.out.Message("interrupted: %d %s %s done; what was sent is kept, and the same command goes on with it",
		s.FilesDone+s.Skipped, of, count(s.Files, "file", "files"))
	t.d.hint(shellLine(append([]string{t.d.out.Program}, t.d.main.Args[1:]...)))
}
