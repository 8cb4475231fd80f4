package main

import (
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioCommand() *cli.Command {
	return d.command(spec{
		name:    "recordio",
		summary: "read, check, mend and rearrange RecordIO files",
		text: `Works on RecordIO files: those of PaddlePaddle/recordio and its relatives. Files are
on this machine or, below /pfs/, on a service; "-" is standard input or output.
Quoted patterns work; a file that is named twice is read twice. docs/recordio.md tells
of the format, of damage and of indexes.

A file that is made appears under its name when it is whole, several of them
together. None replaces a file that exists, unless --force is given, and none
replaces one that is read.`,
		subs: []*cli.Command{
			d.recordioLsCommand(), d.recordioInfoCommand(), d.recordioCatCommand(), d.recordioHeadCommand(),
			d.recordioGetCommand(), d.recordioVerifyCommand(), d.recordioRepairCommand(), d.recordioSalvageCommand(),
			d.recordioIndexCommand(), d.recordioSplitCommand(), d.recordioMergeCommand(), d.recordioReshardCommand(),
			d.recordioRecompressCommand(), d.recordioDiffCommand(), d.recordioStatsCommand(), d.recordioBenchCommand(),
		},
	})
}
