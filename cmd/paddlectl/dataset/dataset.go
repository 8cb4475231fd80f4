// Package dataset contains the commands paddlectl dataset.
//
// # Files
//
//	dataset                                                     the list of commands
//	cat, convert, info, latest, publish, shard, split, verify   one command each
//	convertoptions, converttell                                 flags and output of convert
//	converton                                                   convert by a job
//	shardprint                                                  output of shard
//	hint                                                        hints about errors
package dataset

import (
	"github.com/paddlecloud/pfs/cmd/internal/app"
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
