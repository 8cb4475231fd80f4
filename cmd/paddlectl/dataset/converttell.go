package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
)

// convertSums is the result of convert with --json.
type convertSums struct {
	Dataset string  `json:"dataset"` // the path of its manifest
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Bad     int64   `json:"bad"`
	LeftOut int64   `json:"left_out"` // files below directories that are not data
	Kept    int     `json:"kept"`     // shards of the earlier run
	Seconds float64 `json:"seconds"`
	Already bool    `json:"already,omitempty"` // nothing was left to do
	DryRun  bool    `json:"dry_run,omitempty"`
	// Columns are the columns of a table, of Parquet or of arrays, with their declared or detected
	// types.
	Columns []manifest.Column `json:"columns,omitempty"`
	Notes   []string          `json:"notes,omitempty"` // properties that the records cannot represent
	Shards  any               `json:"shards"`
}

// convertTelling prints the result of a conversion.
type convertTelling struct {
	a       *app.App
	o       *convertOptions
	r       *dataset.Result
	seconds float64
}

func (t *convertTelling) tell() error {
	if !t.r.Already {
		t.tellLeft()
	}
	if n := t.r.EmptyRecords; n > 0 {
		t.a.Message("%s empty: many readers, such as those of the manuals, take the first one for the end of the file",
			app.Count(n, "record is", "records are"))
	}
	switch {
	case t.o.json:
		return t.tellJSON()
	case t.o.DryRun && !t.r.Already:
		if !t.o.quiet {
			t.tellColumns()
		}
		for _, f := range t.r.Plan.Files {
			t.a.Printf("%s  %d  %s\n", t.a.Name(f.Name), f.Records, cliio.Size(f.Bytes))
		}
	case !t.o.quiet:
		t.tellText()
	}
	return nil
}

func (t *convertTelling) tellJSON() error {
	r := t.r
	sums := convertSums{
		Dataset: app.InDir(t.o.Title, manifest.FileName(r.Name)), Records: r.Records, Bytes: r.Bytes, Bad: r.Bad, LeftOut: r.LeftOut,
		Kept: r.Kept, Seconds: t.seconds, Already: r.Already, DryRun: t.o.DryRun, Columns: r.Columns, Notes: t.notes(), Shards: r.Shards,
	}
	if t.o.DryRun && !r.Already {
		sums.Shards = r.Plan.Files
	}
	return t.a.JSON(sums)
}

func (t *convertTelling) tellText() {
	r := t.r
	if r.Already {
		t.a.Message("already complete: %s in %s, from inputs with the same names and sizes, unchanged since",
			app.Count(r.Records, "record", "records"), app.Count(int64(len(r.Shards)), "shard", "shards"))
		return
	}
	t.tellColumns()
	text := fmt.Sprintf("%s of %s in %s, %s", app.Count(r.Records, "record", "records"), r.Source,
		app.Count(int64(len(r.Shards)), "shard", "shards"), cliio.Size(r.Bytes))
	if r.Kept > 0 {
		text += fmt.Sprintf(", %d of them from the earlier run", r.Kept)
	}
	if r.Bad > 0 {
		text += fmt.Sprintf(", %s left out", app.Count(r.Bad, "malformed record", "malformed records"))
	}
	t.a.Message("%s", text)
}

// tellLeft reports left-out files, parts of samples, and the first left-out records.
func (t *convertTelling) tellLeft() {
	if t.r.Strays != "" {
		t.a.Message("%s", t.r.Strays)
	}
	t.tellHeader()
	if n := t.r.Stats.Partial; n > 0 {
		t.a.Message("the payload raw keeps only the bytes or the text of a sample: %s more, such as a label, which is left out", app.Count(n, "sample has", "samples have"))
	}
	for _, note := range t.notes() {
		t.a.Message("%s", note)
	}
	t.tellBad()
}

// notes returns the properties that the records cannot represent.
func (t *convertTelling) notes() (texts []string) {
	for _, note := range t.r.Stats.Notes {
		texts = append(texts, note.String())
	}
	if more := t.r.Stats.Unnoted; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more kinds", more))
	}
	return texts
}

// tellHeader warns if all names in the header of a table are numbers: the line is probably a
// record.
func (t *convertTelling) tellHeader() {
	if t.o.NoHeader || t.r.Stats.Format != "csv" && t.r.Stats.Format != "tsv" || len(t.r.Stats.Columns) == 0 {
		return
	}
	for _, col := range t.r.Stats.Columns {
		if _, err := strconv.ParseFloat(strings.TrimSpace(col.Name), 64); err != nil {
			return
		}
	}
	t.a.Message("the first line was read as a header, but all names in it are numbers: --no-header makes it a record")
}

// tellColumns prints the types of columns that the inputs state or the conversion found. For many
// columns it counts them by type.
func (t *convertTelling) tellColumns() {
	if len(t.r.Stats.Columns) == 0 || t.o.Text || t.o.payload == "raw" {
		return
	}
	const most = 12
	parts, times := dataset.ColumnTexts(t.r.Columns), map[string]int64{}
	for _, col := range t.r.Stats.Columns {
		times[col.Type]++
	}
	if len(parts) > most {
		parts = parts[:0]
		for _, typ := range slices.Sorted(maps.Keys(times)) {
			parts = append(parts, fmt.Sprintf("%d %s", times[typ], typ))
		}
	}
	t.a.Message("columns: %s", strings.Join(parts, ", "))
}

// tellBad names the first records that were left out.
func (t *convertTelling) tellBad() {
	for _, bad := range t.r.Stats.FirstBad {
		t.a.Message("left out: %v", bad)
	}
	if more := t.r.Stats.Bad - int64(len(t.r.Stats.FirstBad)); more > 0 {
		t.a.Message("left out: %d more", more)
	}
}
