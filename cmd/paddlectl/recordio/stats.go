package recordio

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func statsCommand(a *app.App) *cli.Command {
	o := &datafile.ReadOptions{}
	var entropy, json bool
	return a.NewCommand(app.Spec{
		Name: "stats", Args: "FILE...", Least: 1, Most: -1,
		Summary: "summarize the lengths of records",
		Text: `Reads files and summarizes the lengths of all their records: the shortest, the median,
the mean, the longest, and how many are from one power of two to the next. Lengths from
2048 up are told apart by their first eleven binary digits, so the median of longer ones
is at most 0.1 % too small.

--entropy adds how many bits each single byte of the records carries, from 0 to 8: near 8
compression gains nothing.`,
		Examples: []string{"paddlectl recordio stats --entropy train-0000*"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "entropy", Usage: "also compute the entropy of the bytes", Destination: &entropy},
		}, append(o.Flags("fail"), app.JSONFlag(&json))...),
		Run: func(ctx context.Context, operands []string) error {
			s := recordio.NewLengthStats(entropy)
			err := datafile.EachRead(ctx, a, o, operands, false, func(r *datafile.Reading, f recordfile.File) error {
				return r.RecordsOf(ctx, f, func(rec []byte) error {
					s.Add(rec)
					return nil
				})
			})
			if err == nil || s.Records > 0 || cliio.CodeOf(err) == cliio.Partly {
				showStats(a, entropy, json, s)
			}
			return err
		},
	})
}

// statsJSON is how --json shows the sums.
type statsJSON struct {
	Records   int64                  `json:"records"`
	Bytes     int64                  `json:"bytes"`
	Shortest  int                    `json:"shortest"`
	Median    int                    `json:"median"`
	Mean      float64                `json:"mean"`
	Longest   int                    `json:"longest"`
	Entropy   *float64               `json:"entropy,omitempty"`
	Histogram []recordio.LengthRange `json:"histogram"`
}

func showStats(a *app.App, entropy, json bool, s *recordio.LengthStats) {
	j := statsJSON{Records: s.Records, Bytes: s.Bytes, Longest: s.Longest, Histogram: s.Powers()}
	if s.Records > 0 {
		j.Shortest, j.Median, j.Mean = s.Shortest, s.Median(), float64(s.Bytes)/float64(s.Records)
	}
	if entropy {
		e := s.Entropy()
		j.Entropy = &e
	}
	if json {
		a.JSON(j) // an error shows when Out is flushed
		return
	}
	a.Printf("records:   %d\nbytes:     %d\nshortest:  %d\nmedian:    %d\nmean:      %.1f\nlongest:   %d\n",
		j.Records, j.Bytes, j.Shortest, j.Median, j.Mean, j.Longest)
	if j.Entropy != nil {
		a.Printf("entropy:   %.3f bits a byte\n", *j.Entropy)
	}
	showHistogram(a, j)
}

// histogramWidth is the length of the longest bar.
const histogramWidth = 40

func showHistogram(a *app.App, j statsJSON) {
	most := int64(1)
	for _, p := range j.Histogram {
		most = max(most, p.Records)
	}
	for _, p := range j.Histogram {
		width := int((p.Records*histogramWidth + most - 1) / most)
		a.Printf("%10s - %-10s %12d  %s\n", cliio.ShortSize(int64(p.From)), cliio.ShortSize(int64(p.To)), p.Records, strings.Repeat("#", width))
	}
}
