"""The section of ``method: mirna_targets``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, Strict, StringConstraints, Tag

from pairtile.config.models import Analysis, ConfigModel, InputFile, JobNeeds, Rule, UsedBy
from pairtile.config.network import (
    Chunks,
    ExportList,
    GoldStandard,
    OptionalPath,
    RequiredPath,
    chunks_field,
    export_field,
)
from pairtile.config.values import (
    Expected,
    FullDescription,
    Text,
    as_list,
    model_or_false,
    model_or_false_form,
)

TABLES = ("hits.tsv", "hits.parquet", "hits.bed", "hits.gff3", "targets.tsv", "miranda.txt")
NULL_TABLES = ("signal.tsv", "signal_curve.tsv")
ORTHOLOG_TABLES = ("conservation.tsv",)
EXPRESSION_TABLES = ("expression.tsv",)
SEED_TABLES = ("seed_sites.tsv",)
"""Result files of this method beside the network; those that an analysis with a null has, those
that one with a null and orthologs, or expression, has, and those of ``seed_sites``."""

EXPRESSION = ("mirna_expression", "transcript_expression")
"""Keys of expression tables: both or neither."""

_Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_NameList = Annotated[tuple[_Word, ...], Strict(False), Field(min_length=1)]


class AlignmentConfig(ConfigModel):
    """How miRNAs are aligned to transcripts and which sites are hits: the rules and defaults of
    miRanda 3.3a (Enright et al. 2003), and the same results."""

    score: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=140.0,
        description=(
            "Least alignment score of a hit (miRanda's `-sc`). A pair A-U or G-C gives 5, G-U 1, "
            "a mismatch -3, all times `scale` at miRNA positions 2 to 8, the seed: a perfect seed "
            "alone gives 140."
        ),
    )
    energy: float = Field(
        default=1.0,
        description=(
            "A hit's energy must be below this, in kcal/mol (miRanda's `-en`): -20 keeps strong "
            "duplexes only, 1 nearly all. Hits can also be filtered by energy afterwards."
        ),
    )
    scale: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=4.0,
        description=(
            "Scores and gap penalties at miRNA positions 2 to 8 are multiplied by this (miRanda's "
            "`-scale`)."
        ),
    )
    gap_open: Annotated[float, Field(ge=-10_000, le=0)] = Field(
        default=-9.0,
        description=(
            "Score of the first base of a gap, 0 or negative (miRanda's `-go`); cut to a whole "
            "number, as miRanda does."
        ),
    )
    gap_extend: Annotated[float, Field(ge=-10_000, le=0)] = Field(
        default=-4.0,
        description=(
            "Score of each further base of a gap, 0 or negative (miRanda's `-ge`). With 0 a gap "
            "may have any length, and long transcripts take longer."
        ),
    )
    strict: bool = Field(
        default=False,
        description=(
            "Demand a perfect seed: miRNA positions 2 to 8 all paired by A-U or G-C, without a "
            "gap (miRanda's `-strict`). That is seed class 8mer or 7mer-m8."
        ),
    )
    energies: bool = Field(
        default=True,
        description=(
            "Compute the free energy of each hit's duplex. `false`: it decides nothing, is empty "
            "in tables, and stands as 0 in `miranda.txt` (miRanda's `-noenergy`); quicker."
        ),
    )
    seed_sites: bool = Field(
        default=False,
        description=(
            "Beside miRanda's hits take every 8mer, 7mer-m8, 7mer-A1 and 6mer, whatever its "
            "alignment score: `seed_sites.tsv` lists them, `targets.tsv` counts them, and it and "
            "the network have pairs with such a site alone. With `null`, p of a pair is that of "
            "these sites."
        ),
    )
    trim: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = Field(  # positions are int32
        default=None,
        description=(
            "Use only so many letters from the start of each transcript (miRanda's `-trim`)."
        ),
    )


class ShufflesConfig(ConfigModel):
    """What chance gives: shuffled miRNAs, searched as the miRNAs are. They keep the dinucleotides
    of their miRNA, and sites of their seeds are to be expected in these transcripts as often."""

    shuffles: Annotated[int, Field(ge=20, le=10_000)] = Field(
        default=100,
        description=(
            "Shuffles of each miRNA. The search takes so many times longer; p-values go down to 1 "
            "/ (shuffles x transcripts)."
        ),
    )


ShufflesOrFalse = Annotated[
    Annotated[ShufflesConfig, Tag("<shufflesconfig>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(ShufflesConfig),
    Expected(model_or_false_form(ShufflesConfig)),
]


class MirandaTextConfig(ConfigModel):
    """The form of `miranda.txt`, the text that miRanda 3.3a prints, byte for byte (without its
    banner and list of settings)."""

    quiet: bool = Field(
        default=True,
        description=(
            "Write pairs with hits only, as miRanda does with `-quiet`. `false`: a few lines for "
            "each pair scanned (large: one miRNA and one transcript without a hit take 200 bytes)."
        ),
    )
    keyval: bool = Field(
        default=False,
        description="Write hits in the form key and value, as miRanda does with `-keyval`.",
    )


class ExtraColumnsConfig(ConfigModel):
    """Columns of the hits' tables that newer tools give. They decide nothing about which sites are
    hits, and they cost time for each hit."""

    context: bool = Field(
        default=False,
        description=(
            "What matters around a seed match (6mer or better): pairing behind the seed, distance "
            "to the ends, offset 6mers, stability of the seed's pairs, and the context++ score "
            "(Agarwal et al. 2015), as far as the sequences give it. For 3' UTRs. Some "
            "microseconds a hit."
        ),
    )

    duplex_energy: bool = Field(
        default=False,
        description=(
            "Add the duplex energy by ViennaRNA's current model (RNAduplex: Turner 2004 at 37 °C, "
            "kcal/mol) beside that of miRanda. About 0.3 ms a hit, on each core."
        ),
    )
    accessibility: bool = Field(
        default=False,
        description=(
            "Add the probability that the whole aligned site is free of base pairs within its "
            "transcript (RNAplfold). Slow: some 0.2 ms for each letter of the transcripts that "
            "have hits, on each core; kept for later runs."
        ),
    )


class MirnaTargetsConfig(Analysis):
    """Targets of miRNAs: each miRNA aligned to each transcript, and the same hits, scores and
    energies as miRanda 3.3a; tables of hits and of pairs, BED and GFF3, and the network of miRNA
    to transcript edges."""

    method: Literal["mirna_targets"] = Field(description="Which method this analysis runs.")
    mirnas: RequiredPath = Field(
        description=(
            "Mature miRNAs, FASTA, plain or `.gz`: 5' to 3', T or U, either case, IUPAC letters "
            "allowed."
        ),
    )
    transcripts: RequiredPath = Field(
        description=(
            "Transcripts (or better their 3' UTRs) to search, FASTA, plain or `.gz`, the strand "
            "that is transcribed, 5' to 3'. Names end at the first white space; headers of "
            "Ensembl, BioMart, GENCODE, NCBI and UCSC are split into transcript, gene and symbol."
        ),
    )
    species: Annotated[
        _NameList | None,
        FullDescription("a species (hsa), a list of species, or null"),
        BeforeValidator(as_list, json_schema_input_type=str | list[str] | None),
    ] = Field(
        default=None,
        description=(
            "Species of the miRNAs to search with, of a FASTA file of many such as miRBase's: what "
            "their names begin with, `hsa` or a list such as `[hsa, ebv]`. null: all of the file."
        ),
    )
    mirna_names: Annotated[
        str | _NameList | None,
        FullDescription("a list of miRNAs, the path of a file of them, or null"),
    ] = Field(
        default=None,
        description=(
            "The miRNAs of the file to search with: a list of names (capitals make no "
            "difference), or the path of a file with one a line. null: all of the file."
        ),
    )
    restrict: OptionalPath = Field(
        default=None,
        description=(
            "A list of the pairs to look at, miRNA and transcript in each line, names as in the "
            "FASTA files (miRanda's `-restrict`). null: every miRNA with every transcript."
        ),
    )
    genes: OptionalPath = Field(
        default=None,
        description=(
            "Which gene each transcript is of: a table, transcript and gene in each line. Then "
            "edges point from miRNAs to genes, each with the numbers of its best transcript; the "
            "files of hits stay by transcript. null: edges point to transcripts."
        ),
    )
    orthologs: OptionalPath = Field(
        default=None,
        description=(
            "Orthologs of the transcripts in other species, of the same part (3' UTRs beside 3' "
            "UTRs), plain or `.gz`. FASTA, not aligned: records named `transcript|species`; with "
            "`genes` also `gene|species`. Or a multiple alignment, MAF: each block with a row "
            "`reference_species.transcript` (or gene), strand +. Then tables say how many species "
            "keep each site, and with `null` how many sites are kept beyond chance. null: no "
            "conservation."
        ),
    )
    reference_species: Annotated[str | None, Text("a name", optional=True)] = Field(
        default=None,
        description=(
            "The species of the transcripts, as `orthologs` and `species_tree` call it; records of "
            "it are no orthologs. Needed with MAF. null: none of the records is of that species."
        ),
    )
    species_tree: OptionalPath = Field(
        default=None,
        description=(
            "Tree of the species with branch lengths, Newick. Then tables also say how long the "
            "branches are along which a site is kept, and conservation goes by them. Needs "
            "`orthologs` and `reference_species`. null: the number of species counts."
        ),
    )
    mirna_expression: OptionalPath = Field(
        default=None,
        description=(
            "Expression of the miRNAs: a table as for `expression` of other methods, miRNAs in "
            "rows, normalised. Then tables say how miRNA and transcript are correlated, and "
            "whether that is lower than of sites by chance. Needs `transcript_expression` and "
            "`null`."
        ),
    )
    transcript_expression: OptionalPath = Field(
        default=None,
        description=(
            "Expression of the transcripts (with `genes` also of genes) in the samples of "
            "`mirna_expression`."
        ),
    )
    annotation: Annotated[OptionalPath, InputFile("tables"), UsedBy("tables")] = Field(
        default=None,
        description=(
            "Where the transcripts lie in the genome: a GTF file (lines with `transcript_id`) or "
            "a BED12 file, plain or `.gz`. Then `hits.bed` and `hits.gff3` have genome "
            "coordinates for the transcripts that it holds. A sequence is taken for the whole "
            "spliced transcript or for its 3' UTR, whichever has its length; one of another "
            "length is left in its own coordinates."
        ),
    )
    ignore_versions: bool = Field(
        default=False,
        description=(
            "Whether transcripts and genes are named without the version after the last point, in "
            "every file (ENST00000269305.9 is ENST00000269305)."
        ),
    )
    gold_standard: GoldStandard = Field(
        default=None,
        description=(
            "A table of known targets, columns miRNA and transcript, names as in `hits.tsv` (not "
            "those of genes), to compare the network with: adds `evaluation.json` and its part of "
            "the report. null: no evaluation. It does not change the network."
        ),
    )
    on_bad_record: Literal["error", "skip"] = Field(
        default="error",
        description=(
            "Records of a FASTA file that cannot be used (no name, no letters, illegal "
            "characters, a header in which the file ends). `error`: stop before any work, and "
            "name the first. `skip`: go on without them and list them in `items.parquet`. "
            "BioMart's `Sequence unavailable` and the like are left out either way, and counted."
        ),
    )
    estimator: AlignmentConfig = Field(
        default=AlignmentConfig(), description="How sites are aligned, and which are hits."
    )
    null: ShufflesOrFalse = Field(
        default=False,
        description=(
            "How many sites chance gives, from shuffled miRNAs: of each seed class the number to "
            "be expected, and p and q of each pair, by which `targets.tsv` and the network are "
            "ranked. The hits are the same either way."
        ),
    )
    miranda_text: Annotated[MirandaTextConfig, UsedBy("tables")] = Field(
        default=MirandaTextConfig(), description="The form of `miranda.txt`."
    )
    extras: Annotated[ExtraColumnsConfig, UsedBy("tables")] = Field(
        default=ExtraColumnsConfig(),
        description="Further columns of `hits.tsv` and `hits.parquet`.",
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()

    jobs: ClassVar[JobNeeds] = JobNeeds(
        prepare_seed=True, network_gpu=False, cores_with_gpu=True, many_draws="null.shuffles"
    )
    tables: ClassVar[tuple[str, ...]] = (
        TABLES + SEED_TABLES + NULL_TABLES + ORTHOLOG_TABLES + EXPRESSION_TABLES
    )

    @property
    def shuffles(self) -> int:
        """Of each miRNA, for ``null``; 0 without."""
        return 0 if self.null is False else self.null.shuffles

    def input_files(self) -> dict[str, str]:
        """With the list of miRNAs where it is a file."""
        named = {"mirna_names": self.mirna_names} if isinstance(self.mirna_names, str) else {}
        return super().input_files() | named

    def result_tables(self) -> tuple[str, ...]:
        """Those of ``tables`` that are made of what there is."""
        seeds = SEED_TABLES if self.estimator.seed_sites else ()
        if self.null is False:
            return TABLES + seeds
        conserved = ORTHOLOG_TABLES if self.orthologs is not None else ()
        joined = EXPRESSION_TABLES if self.mirna_expression is not None else ()
        return TABLES + seeds + NULL_TABLES + conserved + joined

    def requirements(self) -> Iterator[Rule]:
        for key in ("species_tree", "reference_species"):
            alone = self.orthologs is None and getattr(self, key) is not None
            yield Rule(alone, key, "null without orthologs")
        lacks = self.species_tree is not None and self.reference_species is None
        yield Rule(lacks, "reference_species", "a species of species_tree: that of the transcripts")
        missing = [key for key in EXPRESSION if getattr(self, key) is None]
        for key in missing:
            yield Rule(len(missing) == 1, key, "a table, beside that of the other kind")
        unrelated = not missing and self.null is False
        yield Rule(unrelated, "null", "{shuffles: 100}: correlations are compared with those")
