package recordio

import (
	"context"
	"math"
	"math/bits"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

// statsOptions are the choices of stats.
type statsOptions struct {
	datafile.ReadOptions

	entropy, json bool
}

func statsCommand(a *app.App) *cli.Command {
	o := &statsOptions{}
	return a.NewCommand(app.Spec{
		Name: "stats", Args: "FILE...", Least: 1, Most: -1,
		Summary: "sum up the lengths of records",
		Text: `Reads files and sums up the lengths of the records of all of them: the shortest, the
median, the mean, the longest, and how many are from one power of two to the next.
Lengths from 2048 up are told apart by their first eleven binary digits, so that the
median of longer ones is at most 0.1 % too small.

With --entropy also how many bits a byte carries, from 0 to 8, where each byte of the
records is taken by itself: near 8 nothing is gained by a compressor.`,
		Examples: []string{"paddlectl recordio stats --entropy train-0000*"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "entropy", Usage: "the entropy of the bytes, too", Destination: &o.entropy},
		}, append(o.Flags("fail"), app.JSONFlag(&o.json))...),
		Run: func(ctx context.Context, operands []string) error { return recordStats(ctx, a, o, operands) },
	})
}

func recordStats(ctx context.Context, a *app.App, o *statsOptions, operands []string) error {
	if err := o.Check(); err != nil {
		return err
	}
	files, err := datafile.List(ctx, a, operands)
	if err != nil {
		return err
	}
	r := datafile.StartReading(ctx, a, &o.ReadOptions, files, false)
	defer r.M.End()
	s := newLengthStats(o.entropy)
	err = app.EachOf(ctx, a, files, func(f datafile.File) error {
		return r.Records(ctx, f, func(rec []byte) error {
			s.add(rec)
			return nil
		})
	})
	r.M.End()
	if err == nil || s.records > 0 {
		showStats(a, o, s)
	}
	return r.End(err)
}

// exactBits is how many binary digits of a length are kept.
const exactBits = 11

// lengthStats counts lengths of records, in constant memory.
type lengthStats struct {
	records, bytes    int64
	shortest, longest int
	buckets           []int64     // see bucket
	values            *[256]int64 // bytes of each value; nil if not asked for
}

func newLengthStats(entropy bool) *lengthStats {
	s := &lengthStats{shortest: math.MaxInt, buckets: make([]int64, bucket(math.MaxUint32)+1)}
	if entropy {
		s.values = new([256]int64)
	}
	return s
}

func (s *lengthStats) add(rec []byte) {
	n := len(rec)
	s.records++
	s.bytes += int64(n)
	s.shortest, s.longest = min(s.shortest, n), max(s.longest, n)
	s.buckets[bucket(uint64(n))]++
	if s.values != nil {
		for _, b := range rec {
			s.values[b]++
		}
	}
}

// bucket returns the number of the bucket of length n: one for each length that has
// up to exactBits digits, and then as many for each digit more.
func bucket(n uint64) int {
	shift := max(0, bits.Len64(n)-exactBits)
	return shift<<(exactBits-1) + int(n>>shift)
}

// lowest returns the shortest length of bucket b.
func lowest(b int) int {
	shift := max(0, b>>(exactBits-1)-1)
	return (b - shift<<(exactBits-1)) << shift
}

// median returns the length that half of the records do not exceed.
func (s *lengthStats) median() int {
	left := (s.records + 1) / 2
	for b, n := range s.buckets {
		if left -= n; left <= 0 {
			return max(s.shortest, lowest(b))
		}
	}
	return s.longest
}

// entropy returns the bits that a byte carries.
func (s *lengthStats) entropy() float64 {
	e := 0.0
	for _, n := range s.values {
		if n > 0 {
			p := float64(n) / float64(s.bytes)
			e -= p * math.Log2(p)
		}
	}
	return e
}

// powerJSON is how many records have from From to To bytes.
type powerJSON struct {
	From    int   `json:"from"`
	To      int   `json:"to"`
	Records int64 `json:"records"`
}

// powers returns the histogram by powers of two, from the shortest to the longest.
func (s *lengthStats) powers() []powerJSON {
	if s.records == 0 {
		return []powerJSON{}
	}
	first, last := bits.Len(uint(s.shortest)), bits.Len(uint(s.longest))
	list := make([]powerJSON, last-first+1)
	for i := range list {
		top := 1 << (first + i)
		list[i].From, list[i].To = top/2, top-1
	}
	for b, n := range s.buckets {
		if n > 0 {
			list[bits.Len(uint(lowest(b)))-first].Records += n
		}
	}
	return list
}

// statsJSON is how --json shows the sums.
type statsJSON struct {
	Records   int64       `json:"records"`
	Bytes     int64       `json:"bytes"`
	Shortest  int         `json:"shortest"`
	Median    int         `json:"median"`
	Mean      float64     `json:"mean"`
	Longest   int         `json:"longest"`
	Entropy   *float64    `json:"entropy,omitempty"`
	Histogram []powerJSON `json:"histogram"`
}

func showStats(a *app.App, o *statsOptions, s *lengthStats) {
	j := statsJSON{Records: s.records, Bytes: s.bytes, Longest: s.longest, Histogram: s.powers()}
	if s.records > 0 {
		j.Shortest, j.Median, j.Mean = s.shortest, s.median(), float64(s.bytes)/float64(s.records)
	}
	if s.values != nil {
		e := s.entropy()
		j.Entropy = &e
	}
	if o.json {
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
		line := "##########" + "##########" + "##########" + "##########"
		a.Printf("%10s - %-10s %12d  %s\n", cliio.ShortSize(int64(p.From)), cliio.ShortSize(int64(p.To)), p.Records, line[:width])
	}
}
