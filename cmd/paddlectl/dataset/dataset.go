// Package dataset has the commands for sets of shards: paddlectl dataset.
//
// # Files
//
//	dataset, cat, convert, info, latest, publish, shard, split, verify   the list of commands; those of the names
//	convertoptions, converttell                                          flags of convert; what it says
//	shardprint                                                           what shard says
//	hint                                                                 the way out of errors
package dataset

import (
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

// Command is paddlectl dataset.
func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "dataset",
		Summary: "make datasets for training, check them, share them out",
		Text: `Converts data into RecordIO shards with a manifest, checks them, shares them out to
trainers and publishes them. Paths that begin with /pfs/ are on a service.`,
		Subs: []*cli.Command{
			datasetCatCommand(a), datasetConvertCommand(a), datasetInfoCommand(a), datasetLatestCommand(a), datasetPublishCommand(a),
			datasetShardCommand(a), datasetSplitCommand(a), datasetVerifyCommand(a),
		},
	})
}
