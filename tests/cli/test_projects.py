"""``aria projects``: each shape of repository is named, in the user's language; what is missing is said."""

from __future__ import annotations

import json

from tests.helpers.aria import Aria
from tests.sources.repos import git, make


def test_each_shape_is_named_and_a_missing_root_is_said(aria: Aria) -> None:
    roots = aria.root / "projects"
    make(roots / "plain")
    git(make(roots / "loose"), "checkout", "-q", "--detach")
    (roots / "new").mkdir()
    git(roots / "new", "init", "-q", "-b", "main")
    git(roots, "clone", "-q", "--bare", str(roots / "plain"), "naked.git")
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text(f'[projects]\nroots = ["{roots}", "{aria.root}/nowhere"]\n')
    said = aria("projects").ok()
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert "detached" in lines["loose"] and "no commits" in lines["new"]
    assert "bare" in lines["naked.git"].removeprefix("naked.git") and "clean" not in lines["naked.git"]
    assert "nowhere: no such folder" in said.err
    document = aria("projects", "--json").ok()
    assert len(json.loads(document.out)["projects"]) == 4 and "nowhere: no such folder" in document.err
    assert "sem commits" in aria("projects", env={"LANG": "pt_BR.UTF-8"}).ok().out
