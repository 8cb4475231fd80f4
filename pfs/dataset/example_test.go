package dataset_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// The whole life of a dataset: a table becomes shards with a manifest, these are published as
// version 1, and a reader that only knows the name of the dataset gets its records.
func Example() {
	ctx, fsys := context.Background(), memfs.New(memfs.Options{})
	table := recordfile.File{Title: "-", Stream: strings.NewReader("rooms,price\n6,24\n5,21.6\n7,34.7\n")}
	made, err := dataset.Convert(ctx, dataset.Options{
		Inputs: []dataset.Input{{File: table}}, Format: "csv", Payload: "json", NumShards: 2,
		Dir: transfer.End{FS: fsys, Path: "/made"}, Name: "housing",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Records, "records in", made.Names())

	set, err := dataset.Open(ctx, dataset.Path(transfer.End{FS: fsys, Path: "/made"}).File)
	if err != nil {
		log.Fatal(err)
	}
	public := transfer.End{FS: fsys, Path: "/public"}
	version, err := set.Publish(ctx, public, dataset.PublishOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", version.Version, "in", version.Dir.Path)

	_, shards, err := dataset.Find(ctx, []dataset.Input{dataset.Path(public)}, recordio.Fail)
	if err != nil {
		log.Fatal(err)
	}
	for rec, err := range new(recordfile.Reading).Records(ctx, shards) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", rec.Data)
	}
	// Output:
	// 3 records in [housing-00000-of-00002 housing-00001-of-00002]
	// version 1 in /public/1
	// {"rooms":6,"price":24.0}
	// {"rooms":5,"price":21.6}
	// {"rooms":7,"price":34.7}
}

// makeHousing makes a dataset of three records for the examples.
func makeHousing(ctx context.Context, fsys *memfs.FS) *dataset.Dataset {
	table := recordfile.File{Title: "-", Stream: strings.NewReader("rooms,price\n6,24\n5,21.6\n7,34.7\n")}
	dir := transfer.End{FS: fsys, Path: "/made"}
	_, err := dataset.Convert(ctx, dataset.Options{
		Inputs: []dataset.Input{{File: table}}, Format: "csv", Payload: "json", LineCount: 1, Dir: dir, Name: "housing",
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err := dataset.Open(ctx, dataset.Path(dir).File)
	if err != nil {
		log.Fatal(err)
	}
	return set
}

func ExampleDataset_Verify() {
	ctx, fsys := context.Background(), memfs.New(memfs.Options{})
	set := makeHousing(ctx, fsys)
	if err := fsys.Remove(ctx, set.Shard(1).End.Path); err != nil {
		log.Fatal(err)
	}
	report, err := set.Verify(ctx, dataset.VerifyOptions{Found: func(r dataset.ShardReport) { fmt.Println(r.Name, r.State) }})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("whole:", report.OK())
	// Output:
	// housing-00000-of-00003 same
	// housing-00001-of-00003 missing
	// housing-00002-of-00003 same
	// whole: false
}

// One of two trainers reads its records, in an order that all trainers share.
func ExampleShare() {
	ctx, fsys := context.Background(), memfs.New(memfs.Options{})
	makeHousing(ctx, fsys)
	shuffle, err := shard.ParseShuffle("global")
	if err != nil {
		log.Fatal(err)
	}
	s, err := dataset.Share(ctx, []dataset.Input{dataset.Path(transfer.End{FS: fsys, Path: "/made"})}, dataset.ShareOptions{
		Policy: dataset.ByOrder, Trainer: shard.Trainer{ID: 0, Count: 2}, Shuffle: shuffle, Seed: 7,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	records, cursor, err := s.Records(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	for rec, err := range records {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", rec.Data)
	}
	fmt.Println("cursor", cursor())
	// Output:
	// {"rooms":5,"price":21.6}
	// cursor 2
}
