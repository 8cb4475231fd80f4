package recordio

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func recordioLsCommand(a *app.App) *cli.Command {
	o := &datafile.ReadOptions{}
	var json bool
	return a.NewCommand(app.Spec{
		Name: "ls", Args: "FILE...", Least: 1, Most: -1,
		Summary: "list files with their records, chunks, compressor and bytes",
		Text: `Lists files with the number of their records and chunks, how they are compressed,
and their bytes. Only the headers of the chunks are read: verify reads everything.`,
		Examples: []string{"paddlectl recordio ls '/pfs/dc1/public/dataset/housing/train-*'"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    []cli.Flag{o.LimitFlag(), app.JsonFlag(&json)},
		Run: func(ctx context.Context, operands []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			l := recordioLs{a: a, o: o, json: json}
			return l.run(ctx, operands)
		},
	})
}

// recordioLs is one run of the command.
type recordioLs struct {
	a     *app.App
	o     *datafile.ReadOptions
	json  bool
	begun bool
}

func (l *recordioLs) run(ctx context.Context, operands []string) error {
	files, err := datafile.List(ctx, l.a, operands)
	if err != nil {
		return err
	}
	return app.EachOf(ctx, l.a, files, func(f datafile.File) error {
		r, err := datafile.OpenRecordFile(ctx, l.a, f, l.o)
		if err != nil {
			return err
		}
		defer r.Close()
		l.print(newFileJSON(r))
		return nil
	})
}

func (l *recordioLs) print(j fileJSON) {
	if l.json {
		l.a.JSON(j) // an error shows when Out is flushed
		return
	}
	if !l.begun {
		l.begun = true
		l.a.Printf("%12s  %8s  %-10s  %14s  %s\n", "records", "chunks", "compressor", "bytes", "file")
	}
	l.a.Printf("%12d  %8d  %-10s  %14d  %s\n", j.Records, j.Chunks, j.compressor(), j.Bytes, l.a.Name(j.Path))
}

// fileJSON is how --json shows a file of records.
type fileJSON struct {
	Path        string   `json:"path"`
	Records     int64    `json:"records"`
	Chunks      int64    `json:"chunks"`
	Compressors []string `json:"compressors"`
	Bytes       int64    `json:"bytes"`
	Dialect     string   `json:"dialect"`
	Index       string   `json:"index"` // beside the file, or embedded in it
}

func newFileJSON(r *datafile.RecordFile) fileJSON {
	j := fileJSON{
		Path: r.In.Text, Records: r.Len(), Chunks: int64(len(r.Chunks())), Bytes: r.In.Size,
		Dialect: r.Dialect().String(), Index: r.IndexState,
	}
	has := map[recordio.Compressor]int64{}
	for _, c := range r.Chunks() {
		has[c.Compressor]++
	}
	j.Compressors = datafile.CompressorNames(has)
	return j
}

// compressor names those of a file; "-" if it has no chunk.
func (j fileJSON) compressor() string {
	if len(j.Compressors) == 0 {
		return "-"
	}
	return strings.Join(j.Compressors, "+")
}
