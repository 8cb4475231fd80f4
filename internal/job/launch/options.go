package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// Options are the options of Run.
type Options struct {
	Rank *Rank
	Env  []string // the environment below that of the rank

	// Stdout and Stderr, if not nil, get the output of the entry, besides the log files.
	Stdout, Stderr io.Writer

	LogSize  int64 // of one file; 0: DefaultLogSize
	LogFiles int   // 0: DefaultLogFiles

	// Grace is the time between a signal that asks the entry to end and SIGKILL;
	// 0: no SIGKILL while the shell of the entry runs, because Kubernetes sends it.
	Grace time.Duration

	// Stop, if not nil, is closed if somebody has asked the entry to end before Run took over the signals.
	Stop <-chan struct{} `json:"-"`

	// UploadWait is how long Run waits for the uploader after the entry has ended.
	UploadWait time.Duration
}

// Times that no option changes.
const (
	stopGrace   = 30 * time.Second       // for what the shell of the entry leaves behind after a signal, unless Options.Grace is set
	leftGrace   = 2 * time.Second        // for processes that the entry leaves behind, to end after SIGTERM
	killAgain   = 100 * time.Millisecond // between two kills of all processes, which may fork meanwhile
	killTries   = 100
	copyGrace   = 10 * time.Second // for copies of the output, after the end of all processes
	recordTries = 60               // of writing the exit record, a second apart
	ackPoll     = 100 * time.Millisecond
)

// writeFiles writes the files by which programs learned their rank in 2017.
func (r *Rank) writeFiles() error {
	for name, n := range map[string]int{"trainer_id": r.number(), "trainer_count": len(r.Trainers)} {
		if err := os.WriteFile(filepath.Join(r.JobRoot, name), fmt.Appendln(nil, n), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// record writes the exit record. It repeats that for a while, since a disk may have room again.
func record(dir job.RankDir, exit *job.Exit) error {
	err := dir.WriteExit(exit)
	for n := 0; err != nil && n < recordTries; n++ {
		time.Sleep(time.Second)
		err = dir.WriteExit(exit)
	}
	return err
}

// waitForUploader waits until the uploader has acknowledged, at most for the time wait.
func waitForUploader(dir job.RankDir, wait time.Duration) {
	for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(ackPoll) {
		if u, _ := dir.ReadUploaded(); u != nil {
			return
		}
	}
}
