package dataset

import (
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
)

// is reports whether a flag was given, with whatever value.
func (o *convertOptions) is(name string) bool { return o.given != nil && o.given(name) }

// checkIdle refuses flags that would do nothing: whoever gives one means something.
func (o *convertOptions) checkIdle() error {
	raw := o.payload == "raw"
	skips := o.badFile != "" || o.bad == "skip"
	for _, rule := range []struct {
		names  string // of flags that do nothing
		idle   bool   // in this case
		reason string
	}{
		{"seed shuffle-memory", !o.shuffle, "there is no --shuffle"},
		{"columns", !o.noHeader, "the header names the columns; without one, give --no-header too"},
		{"type text null label columns", raw, "--payload raw takes lines as they are"},
		{"label-from", o.format != "" && o.format != "images", "labels of directories are for images, not for --format " + o.format},
		{"bad max-bad bad-file max-record encoding include exclude skip-lines", o.format == recordsFormat, "records of RecordIO are taken as they are"},
		{"on-damage", o.format != recordsFormat, "it is for --format recordio"},
		{"max-bad", !skips, "there is no --bad skip, and no --bad-file"},
	} {
		for _, name := range strings.Fields(rule.names) {
			if rule.idle && o.is(name) {
				return cliargs.Usagef("--%s does nothing: %s", name, rule.reason)
			}
		}
	}
	return nil
}
