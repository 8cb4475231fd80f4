package main

import "github.com/urfave/cli/v2"

func (d *deps) datasetCommand() *cli.Command {
	return d.command(spec{
		name:    "dataset",
		summary: "make datasets for training, check them, share them out",
		text: `Turns real data into shards of RecordIO with a manifest, checks them, shares them
out to trainers, publishes them. Paths that begin with /pfs/ are on a service.`,
		subs: []*cli.Command{
			d.datasetCatCommand(), d.datasetConvertCommand(), d.datasetInfoCommand(), d.datasetLatestCommand(), d.datasetPublishCommand(),
			d.datasetShardCommand(), d.datasetSplitCommand(), d.datasetVerifyCommand(),
		},
	})
}
