package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/recordio"
)

const wayToReplace = "--force replaces it"

// lookAtSet refuses to go on where a set is in the way. With --resume it may be what
// this conversion makes, which has then nothing left to do.
func (c *conversion) lookAtSet(ctx context.Context) error {
	if !c.set.manifest || c.o.force {
		return nil
	}
	at := c.dir.Path.Join(manifest.FileName(c.o.namePrefix))
	if !c.o.resume {
		return app.WithHint(pfs.Errorf("paddlectl.convert", at, pfs.Exist, "the dataset exists"), wayToReplace)
	}
	made, err := readDataset(ctx, c.dir, c.o.namePrefix, strings.TrimSuffix(c.o.outputPath, "/")+"/")
	if err != nil {
		return err
	}
	if why := c.in.differ(made.Manifest, c.o); why != "" {
		return app.WithHint(pfs.Errorf("paddlectl.convert", at, pfs.Exist, "the dataset exists, and is not what this command makes: %s", why), wayToReplace)
	}
	if err := c.newerInput(ctx, at); err != nil {
		return err
	}
	if err := checkShards(ctx, c.a, made, recordio.Fail); err != nil {
		return err
	}
	for i, s := range made.Shards {
		end := made.shard(i).End
		sum, err := digest.Stored(ctx, end.FS, end.Path, digest.BLAKE3, nil)
		if err != nil {
			return err
		}
		if sum != s.Digest {
			return app.WithHint(pfs.Errorf("paddlectl.convert", end.Path, pfs.Integrity, "the shard is not the one that the manifest states"), wayToReplace)
		}
	}
	c.made = made
	return nil
}

// differ tells in which input or option a set is not what o makes of the inputs, as far
// as the manifest says; "" if it is.
func (in *datasetInputs) differ(m *manifest.Manifest, o *convertOptions) string {
	before, now := slices.Clone(m.Options), o.ofBytes()
	if m.Bad == 0 { // then it made no difference
		skips := func(option string) bool { return option == "--bad=skip" }
		before, now = slices.DeleteFunc(before, skips), slices.DeleteFunc(now, skips)
	}
	if why := difference(before, now); why != "" {
		return why
	}
	return difference(inputTexts(m.Inputs), inputTexts(in.list()))
}

// inputTexts describes inputs in words.
func inputTexts(list []manifest.Input) (texts []string) {
	for _, in := range list {
		texts = append(texts, fmt.Sprintf("%s of %s, %s", in.Path, app.Count(in.Files, "file", "files"), app.Count(in.Bytes, "byte", "bytes")))
	}
	return texts
}

// difference tells the first difference between what a run before and this one were
// given; "" if there is none.
func difference(before, now []string) string {
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			return fmt.Sprintf("it was made with %s, which is not given", before[i])
		case i >= len(before):
			return fmt.Sprintf("it was made without %s", now[i])
		case before[i] == now[i]:
		case slices.Contains(before, now[i]) && !slices.Contains(now, before[i]):
			return fmt.Sprintf("it was made with %s, which is not given", before[i])
		case slices.Contains(now, before[i]) && !slices.Contains(before, now[i]):
			return fmt.Sprintf("it was made without %s", now[i])
		default:
			return fmt.Sprintf("it was made with %s, not %s", before[i], now[i])
		}
	}
	return ""
}

// newerInput returns an error if an input may be another than the set at was made of,
// though it has the same name and size.
func (c *conversion) newerInput(ctx context.Context, at pfs.Path) error {
	info, err := c.dir.FS.Stat(ctx, at)
	if err != nil {
		return err
	}
	for _, g := range c.in.groups {
		switch {
		case g.stdin:
			return app.WithHint(pfs.Errorf("paddlectl.convert", at, pfs.Exist, "the dataset exists; whether standard input is what it was made of is not known"), wayToReplace)
		case g.newest.After(info.ModTime):
			return app.WithHint(pfs.Errorf("paddlectl.convert", at, pfs.Exist, "the dataset exists, and %s was changed after it", g.newestName), wayToReplace)
		}
	}
	return nil
}

// tellMade says that there was nothing left to do, and removes what a run may have left
// that was killed just before its end.
func (c *conversion) tellMade(ctx context.Context) error {
	if !c.o.dryRun && c.work.resumed {
		if err := c.work.remove(ctx); err != nil {
			return err
		}
	}
	if c.o.json {
		shards, err := jsonOf(c.made.Shards)
		if err != nil {
			return err
		}
		return c.a.JSON(convertSums{
			Dataset: app.InDir(c.o.outputPath, manifest.FileName(c.o.namePrefix)), Records: c.made.Records, Bytes: c.made.Bytes,
			Bad: c.made.Bad, Kept: len(c.made.Shards), Seconds: c.a.Now().Sub(c.start).Seconds(), Already: true, DryRun: c.o.dryRun,
			Columns: c.made.Columns, Shards: shards,
		})
	}
	if !c.o.quiet {
		c.a.Message("already complete: %s in %s, of inputs that have the same names and sizes and were not changed since",
			app.Count(c.made.Records, "record", "records"), app.Count(int64(len(c.made.Shards)), "shard", "shards"))
	}
	return nil
}
