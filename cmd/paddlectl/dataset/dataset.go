// Package dataset has the commands for sets of shards: paddlectl dataset.
//
// # Files
//
//	dataset, cat, info, latest, transcode       the list of commands; those of the names
//	split, verify
//	convert*                                    convert: found and checked (inputs, survey, check); run; staged (staging, sink)
//	publish*, shard*, versions                  publish; shard; published versions
//	open, records                               datasets and their records, read
package dataset

import (
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "dataset",
		Summary: "make datasets for training, check them, share them out",
		Text: `Turns real data into shards of RecordIO with a manifest, checks them, shares them
out to trainers, publishes them. Paths that begin with /pfs/ are on a service.`,
		Subs: []*cli.Command{
			datasetCatCommand(a), datasetConvertCommand(a), datasetInfoCommand(a), datasetLatestCommand(a), datasetPublishCommand(a),
			datasetShardCommand(a), datasetSplitCommand(a), datasetVerifyCommand(a),
		},
	})
}
