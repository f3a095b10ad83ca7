"""Every mistake of a user's is answered in one line that names the value, its place, a remedy."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from eventspace import KolmogorovDescent, KolmogorovEnsemble, Observations
from eventspace.fitted import FittedModel, load
from tests.command import in_process, piped, written
from tests.observing import altered

LONG = "user,item,value\nbob,Heat,3\nann,Alien,{}\nbob,Up,1\nann,Heat,4\n"
WEIGHTED = "user,item,value,weight\nbob,Heat,3,1\nann,Alien,5,{}\nbob,Up,1,1\n"
COUNTS = "user,item,successes,trials\nbob,Heat,1,2\nann,Alien,{},{}\n"
WHERE = "(line 3, user 'ann', item 'Alien')"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a table, one model and an average, and things that are neither."""
    folder: Path = tmp_path_factory.mktemp("mistakes")
    table = pd.DataFrame(
        [[5, 4, 1, 2], [4, 5, 2, 1], [1, 2, 5, 4], [2, 1, 4, 5]],
        index=["ann", "bob", "cat", "dan"],
        columns=["Alien", "Aliens", "Heat", "Fargo"],
    )
    seen = Observations.from_wide(table)
    KolmogorovDescent(2, random_state=0).fit(seen).save(folder / "model")
    KolmogorovEnsemble(2, n_models=2, random_state=0).fit(seen).save(folder / "average")
    long = table.melt(var_name="item", ignore_index=False).rename_axis("user").reset_index()
    long.to_csv(folder / "good.csv", index=False)
    content = (folder / "model").read_bytes()
    (folder / "cut").write_bytes(content[:500])
    (folder / "damaged").write_bytes(content[:200] + b"\0" * 40 + content[240:])
    with zipfile.ZipFile(folder / "newer", "w") as archive:
        archive.writestr("header.json", '{"format": "eventspace model", "version": 99}')
    with zipfile.ZipFile(folder / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    written(folder / "strange.csv", "user,item\nann,Alien\nann,Alein\n")
    written(folder / "columns.csv", "a,b,c\n1,2,3\n")
    written(folder / "titles.csv", "id,title\n7,Seven\n")
    written(folder / "genres.csv", "item,genre\nHeat,crime\nUp,family\n")
    written(folder / "strangers.csv", "user,item,value\nann,Up,5\nbob,Up,1\n")
    written(folder / "twice.csv", "user,item,value,trials\nann,Heat,1,1\n")
    return folder


# What a table holds (None: the good one), the options, and what is answered
TABLES = [
    (LONG.format(7), "--scale 1,5", f"value 7 {WHERE} is outside the scale; the scale allows"),
    (LONG.format(-2), "--scale max", f"value -2 {WHERE} is outside the scale; allowed with"),
    (LONG.format("inf"), "", f"value inf {WHERE} is infinite; allowed are finite numbers"),
    (LONG.format("good"), "", f"value 'good' {WHERE} is text; allowed are finite numbers"),
    (LONG.format('"4,5"').replace("3", "3.5"), "", f"value '4,5' {WHERE} is text (4.5 with "
     "--decimal ,)"),
    (LONG.format('"1,234"'), "", f"value '1,234' {WHERE} is text (1234 with --decimal ., 1.234 "
     "with --decimal ,)"),
    (WEIGHTED.format(-1), "", f"weight -1.0 {WHERE} is negative; allowed are finite numbers from"),
    (WEIGHTED.format("inf"), "", f"weight inf {WHERE} is infinite"),
    (WEIGHTED.format(""), "", f"weight nan {WHERE} is missing"),
    (WEIGHTED.format("x"), "", f"weight 'x' {WHERE} is text"),
    (COUNTS.format(5, 4), "", f"successes 5 {WHERE} are not between 0 and the trials, 4"),
    (COUNTS.format(0, -1), "", f"trials -1.0 {WHERE} is negative"),
    ("user,item,value\nann,Up,1\n,Heat,2\n", "", "The user id of line 3 is missing"),
    ("user,item,value\nann,Up,1\nbob,,2\n", "", "The item id of line 3 is missing"),
    ("user,item,value\n", "", "Nothing is observed: there is no row with a value"),
    ("user,item,value,weight\nann,Up,1,0\n", "", "Nothing is observed"),
    ("", "", "is empty: its first line should name the columns"),
    ("user item value\nann Up 1\n", "", "is not separated by tabs, commas, semicolons, bars or "
     "double colons. A table has two columns or more; name what is between them: --sep ' ', say"),
    ("user,item,value\nann,Up\n", "", "line 2 has 2 fields and the first line 3: 'ann,Up'"),
    ('{"user": 1}\n', "", "is JSON: a table is a CSV, TSV or Parquet file"),
    ("user,item,item,value\nann,Up,Heat,1\n", "", "has more than one column named 'item'"),
    ("user,item,film,value\nann,Up,Up,1\n", "", "'item' and 'film' could both be the item: say "
     "which with --item NAME"),
    ("a,b,c\n1,0,1\n0,1,1\n", "", "say which with --user NAME, --item NAME, --value NAME"),
    ("user,value,a,b,c\nann,1,2,3,4\n", "", "name it: --item NAME; for a wide one (users "
     "x items) say --wide"),
    ("user,item,value,successes\nann,Up,1,1\n", "", "give --value and perhaps --weight, or else "
     "--successes and --trials"),
    ("ann,Up,3,1\nbob,Up,2,1\n", "", "may be a row or the names of the columns: say "),
    ("1,0,1\n0,1,1\n", "", "'column 1', 'column 2', 'column 3'"),
    ("user,item,value\nann,Up,1\nann,Up,2\n", "", "User 'ann' has item 'Up' 2 times; 1 pairs in "
     "all occur more than once. --duplicates mean, or last, accepts them"),
    ("user,item,value\nann,Up,2020-01-01\n", "", "is no number"),
    ("user,userId,Up,Heat,Ran\n1,ann,3,4,5\n", "--wide", "named like the user: say which with "
     "--user NAME"),
    (None, "--user nobody", "There is no column 'nobody' among 'user', 'item', 'value'"),
    (None, "--wide --item item", "--item: this is for long tables, not with --wide"),
    (None, "--scale 5,1", "--scale 5,1 is no scale: write auto, max, or LO,HI"),
    (None, "--scale one,two", "--scale one,two is no scale: write auto, max, or LO,HI such as 1,5"),
    (None, "--duplicates first", "--duplicates: 'first' is not one of 'error', 'mean',"),
    (None, "--events 99", "--events: 99 is no whole number from 1 to 64. See eventspace fit"),
    (None, "--events 0", "--events: 0 is no whole number from 1 to 64"),
    (None, "--events some", "--events: 'some' is neither auto nor a whole number."),
    (None, "--events auto8", "--events: 'auto8' is neither auto nor a whole number."),
    (None, "--penalty -1", "--penalty: -1 is no finite number of at least 0"),
    (None, "--seed -1", "--seed: -1 is no whole number from 0 to 4294967295"),
    (None, "--kind forest", "--kind: 'forest' is not one of 'model', 'posterior', 'ensemble',"),
    (None, "--kind posterior --chains 500", "--chains: 500 is no whole number from 1 to 128"),
    (None, "--kind descent --chains 2", "--chains is not for --kind descent, but for model or "
     "posterior"),
    (None, "--penalty 2", "--penalty is not for --kind model, but for ensemble or descent"),
    (None, "--kind posterior --penalty 2", "not for --kind posterior, but for ensemble or descent"),
    (None, "--kind posterior --events auto", "--events auto must be a whole number from 1"),
    (None, "--kind descent --item-attributes x.csv", "--item-attributes is not for --kind descent, "
     "but for model or posterior"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options", "message"), TABLES)
def test_mistakes_in_a_table(content, options, message, place, tmp_path, capsys) -> None:
    table = place / "good.csv" if content is None else written(tmp_path / "table.csv", content)
    arguments = ["fit", table, "-o", tmp_path / "new", *options.split()]
    answered(in_process(arguments, capsys, code=2), message)
    assert not (tmp_path / "new").exists()


OTHERS = [
    ("fit none.csv -o new", "There is no file 'none.csv'."),
    ("fit . -o new", "The folder '.' holds no Parquet file"),
    ("fit good.csv -o good.csv", "good.csv is the table itself: name another place with --output"),
    ("fit book.xlsx -o new", "'book.xlsx' is a zip archive, such as a spreadsheet or a model: a"),
    ("fit model -o new", "'model' is a zip archive, such as a spreadsheet or a model: a table is"),
    ("fit good.csv -o no/where", "no: there is no such folder to write where to"),
    ("fit good.csv -o .", ". is a folder: name a file in it"),
    ("fit good.csv -o /dev/null", "/dev/null is a device or a pipe: a model goes to a file"),
    ("fit good.csv", "Missing option '--output' / '-o'. See eventspace fit --help"),
    ("fit", "Missing argument 'TABLE'. See eventspace fit --help"),
    ("fti good.csv", "No such command 'fti'. Did you mean 'fit'?"),
    ("fit good.csv -o new --evnts 3", "--evnts"),
    ("info none", "none: there is no such file"),
    ("info good.csv", "good.csv is not an eventspace model"),
    ("info book.xlsx", "book.xlsx is not an eventspace model"),
    ("info cut", "cut is damaged or cut short"),
    ("info damaged", "damaged is damaged"),
    ("info newer", "newer was written by a newer eventspace"),
    ("info .", ". is a folder, not a model"),
    ("predict model none.csv", "There is no file 'none.csv'"),
    ("predict model columns.csv", "named like the user: say --user NAME"),
    ("predict model strange.csv", "does not know 1 of these items: 'Alein': did you mean 'Alien'"),
    ("predict model strange.csv", "--unknown population lets the population stand in."),
    ("predict model good.csv --interval 0.9", "--interval needs an average, and model holds one"),
    ("predict average good.csv --interval 2", "--interval: 2 is no finite number between 0 and 1"),
    ("predict model good.csv -o new.xlsx", "there is no format of the name '.xlsx'; name the file"),
    ("predict model good.csv -o no/new.csv", "no: there is no such folder"),
    ("predict model good.csv -o /dev/full --format csv", "/dev/full: No space left on device."),
    ("predict model good.csv --json --format csv", "--json and --format csv: choose one of them"),
    ("predict model good.csv --unit stars", "'stars' is not one of 'probability', 'original'"),
    ("predict model good.csv --user nobody", "There is no column 'nobody' among 'user'"),
    ("recommend model anne", "does not know 1 of these users: 'anne': did you mean 'ann'"),
    ("recommend model ann --top 0", "--top: 0 is no whole number of at least 1"),
    ("rules model --item Alein", "The model knows no item 'Alein': did you mean 'Alien'"),
    ("rules model --sort fame", "--sort: 'fame' is not one of 'gain', 'gain_low', 'confidence'"),
    ("rules model --sort inclusion", "--sort inclusion needs --restarts 10, say"),
    ("rules model --like nan", "--like nan must be a number"),
    ("rules model --min-evidence -1", "--min-evidence: -1 is no whole number of at least 0"),
    ("rules model --conditions 4", "--conditions: 4 is no whole number from 1 to 3"),
    ("rules model --restarts -1", "--restarts: -1 is no whole number of at least 0"),
    (
        "rules average --restarts 3",
        "--restarts 3 is for single models: an average has its own "
        "draws, and leaving it out is right.",
    ),
    (
        "rules model --evidence strangers.csv",
        "None of the items of the table is one of the model's",
    ),
    (
        "rules model --evidence columns.csv",
        "could be long (user, item, value) or wide (users x items): call the "
        "columns of --evidence user, item and value",
    ),
    ("rules model --evidence twice.csv", "say twice what the value is: call the columns of --evid"),
    (
        "fit good.csv -o new --kind posterior --item-attributes titles.csv",
        "--item-attributes has no row for any of the ids: they belong in the first column; its",
    ),
    (
        "fit good.csv -o new --kind posterior --item-attributes genres.csv",
        "make a column of zeros and ones for each of its values first.",
    ),
    ("rules model --evidence none.csv", "There is no file 'none.csv'"),
    ("rules model --titles titles.csv", "'titles.csv' has none of the model's items in its first"),
    ("explain model anne Heat", "The model knows no user 'anne': did you mean 'ann'"),
    ("explain model ann Haet", "The model knows no item 'Haet': did you mean 'Heat'"),
    ("explain model ann Heat --tags titles.csv", "'titles.csv' has none of the model's items"),
    ("query model Heat&", 'At character 6: expected an item or "(" after "&".'),
    ("query model (Heat", 'At character 1: this "(" is never closed.'),
    ("query model Haet", "The model knows no item 'Haet': did you mean 'Heat'"),
    ("query model Heat --given Haet", "The model knows no item 'Haet'"),
    ("query model Heat --user anne", "does not know 1 of these users: 'anne': did you mean 'ann'"),
    ("convert model new.eventspace", "model holds one model already: only an average can be made"),
    ("convert average new.eventspace --events 65", "--events: 65 is no whole number from 1 to 64"),
    ("convert good.csv new.json", "there is no format of the name '.json'"),
    ("convert none.csv new.csv", "There is no file 'none.csv'"),
    ("report model -o no/where.html", "no: there is no such folder"),
    ("report model -o - --open", "--open needs a file, and --output - prints"),
    ("report model --events 3", "--events is for an average, and model holds one model"),
    ("report model --user ann --no-users", "--no-users and --user ann: choose one of them"),
    ("report model --user anne", "does not know 1 of these users: 'anne': did you mean 'ann'"),
    ("fit good.csv -o -", "--output - is the standard output: a model goes to a file"),
    ("fit good.csv -o new --threads 0", "--threads: 0 is no whole number of at least 1"),
    ("info model -o new.txt", "--output new.txt needs --events or --json"),
    ("info model --format csv", "--format csv needs --events"),
    ("info model --json -o no/where.json", "no: there is no such folder"),
    ("convert good.csv new.csv --part pmf", "--part is for a model, and good.csv is a table"),
    ("convert model new.csv --wide", "--wide is for a table, and model holds a model"),
    ("convert model new.csv --scale 1,5", "--scale is for a table, and model holds a model"),
    ("convert model new.csv --user ann", "--user is for a table, and model holds a model"),
    ("convert average new.csv --events 2", "--events 2 makes a model, and new.csv is a table's"),
    ("convert average - --events 2", "--output - is the standard output: a model goes to a file"),
    ("convert average new.eventspace --part pmf", "--part is for a table, and new.eventspace is"),
    ("rules model --all --top 3", "--all and --top 3: choose one of them"),
    ("predict average good.csv --interval 0", "--interval: 0 is no finite number between 0 and 1"),
    ("report none", "none: there is no such file"),
]


@pytest.mark.parametrize(("line", "message"), OTHERS)
def test_other_mistakes(line, message, place, capsys, monkeypatch) -> None:
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    answered(in_process(line.split(), capsys, code=2), message)
    assert sorted(place.iterdir()) == before


def answered(done, message: str) -> None:
    """One line that says it in the words of the command line."""
    print(done.err)
    assert done.out == ""
    assert done.err.startswith("eventspace: ")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert not re.search(r"Observations\.|\w+=\.\.\.|\bdata,|\bn_\w+=|pandas|\.\.$", done.err)


def test_a_mistake_as_a_shell_sees_it(place, tmp_path) -> None:
    done = piped("fit", place / "none.csv", "-o", tmp_path / "new")
    assert done.code == 2
    answered(done, "There is no file")
    done = piped("fit", "-", "-o", tmp_path / "new", stdin=b"")
    assert done.code == 2
    answered(done, "'<stdin>' is empty")


def test_a_failure_of_ours_says_so(place, capsys, monkeypatch) -> None:
    def fail(self):
        raise KeyError("oops")

    monkeypatch.setattr(FittedModel, "summary", fail)
    done = in_process(["info", place / "model"], capsys, code=1)
    assert "Traceback" in done.err
    assert done.err.endswith("a failure of ours: please report it with the lines above.\n")
    monkeypatch.setattr(FittedModel, "summary", lambda self: int("no number"))
    in_process(["info", place / "model"], capsys, code=1)  # a ValueError, but none that we raise


def test_a_bug_in_a_line_of_ours_is_no_mistake_of_the_user(place, capsys, monkeypatch) -> None:
    """Python's sqrt raises a ValueError, and UTF-8 one, in a frame of ours: we have not."""
    model = load(place / "model")
    model = altered(model, error=-1.0)
    monkeypatch.setattr("eventspace.cli.inputs.load", lambda path: model)
    done = in_process(["info", place / "model", "--json"], capsys, code=1)
    assert "math domain error" in done.err
    monkeypatch.setattr(FittedModel, "summary", lambda self: "\udcff")
    assert "a failure of ours" in in_process(["info", place / "model"], capsys, code=1).err


def test_a_warning_is_one_line(tmp_path, capsys) -> None:
    table = written(tmp_path / "t.csv", LONG.format(""))
    done = in_process(["fit", table, "-o", tmp_path / "m", "--events", 2], capsys)
    assert "eventspace: 1 of 4 entries have no value (NaN): they are dropped.\n" in done.err
