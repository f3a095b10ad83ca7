"""Make the pictures of each view of the page of MovieLens small.

Those that docs/page.md shows go to docs/images/page, the others to build/page. Run from the root:
python docs/screenshots.py. It needs playwright, pillow, chromium (Debian's) and the extra demo;
look at what comes out.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from eventspace import KolmogorovModel, Observations
from eventspace.datasets import movielens_small

DOCS = Path(__file__).parent
IMAGES, OTHERS = DOCS / "images" / "page", DOCS.parent / "build" / "page"
WIDE = {"viewport": {"width": 1200, "height": 800}}
QUESTION = '"Fargo (1996)" & ~("Independence Day (a.k.a. ID4) (1996)" | "Twister (1996)")'
PHONE = {"viewport": {"width": 390, "height": 760}, "has_touch": True, "is_mobile": True}


def main() -> None:
    """Fit, write the page, and take every picture."""
    for folder in (IMAGES, OTHERS):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, sync_playwright() as started:
        address = demo_page(Path(made) / "films.html").as_uri()
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in ("light", "dark"):
            for size, settings in (("", WIDE), ("-phone", PHONE)):
                context = browser.new_context(color_scheme=scheme, **settings)
                take_all(context.new_page(), address, f"{scheme}{size}")
                context.close()
        browser.close()


def demo_page(path: Path) -> Path:
    """The page of a model of MovieLens small.

    A fifth of the users are held out, for the rules; and a tenth of the others' ratings, for the
    predictions.
    """
    films = movielens_small()
    table = films.table
    rng = np.random.default_rng(0)
    users = table["user"].unique()
    strangers = table["user"].isin(rng.choice(users, len(users) // 5, replace=False))
    held_out = strangers | (rng.random(len(table)) < 0.1)
    train = Observations.from_long(table[~held_out], scale=films.scale)
    model = KolmogorovModel(random_state=0).fit(train)
    assert films.items is not None  # which they have
    genres = films.items["genres"]
    return model.report(path, table[held_out], title="MovieLens small", tags=genres)


def take_all(page: Page, address: str, kind: str) -> None:
    """A picture of each view, as a person would come to it."""
    page.goto(address)
    film = page.evaluate("eventspace.space.names.findIndex((n) => n.startsWith('Fargo'))")
    user = page.evaluate("eventspace.data.users.ratings.findIndex((n) => n < 120)")
    for name, view in {
        "events": "events",
        "event": "event/5",
        "lattice": "lattice",
        "around": f"lattice/{film}",
        "rules": "rules",
        "found": "rules",
        "items": "items",
        "item": f"item/{film}",
        "user": f"user/{user}",
        "why": f"user/{user}",
        "you": "you",
        "ask": "ask",
        "compare": f"compare/you/{user}",
        "fit": "fit",
    }.items():
        page.goto(f"{address}#/{view}")
        page.wait_for_selector("main h2")
        if name == "lattice":
            page.locator(".box:not(.chosen)").nth(9).click()
        if name == "you":
            for item, value in enumerate((3, 10, 10, 8, 2, 0, 5)):  # in half stars
                if value:
                    page.locator(".rating li").nth(item).locator("button").nth(value - 1).click()
        if name == "ask":
            page.get_by_label("Expression").fill(QUESTION)
            page.wait_for_timeout(300)
        page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
        phone = "phone" in kind
        places = {
            "found": "main .scatter",
            "why": "aside" if phone else "main .split",
            **({"rules": "main .rules", "you": "main .rating"} if phone else {}),
        }
        if name in places:
            place = page.locator(places[name])
            place.evaluate("e => scrollTo(0, e.getBoundingClientRect().top - 70)")
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        save(page.screenshot(), f"{name}-{kind}.png")
    page.goto(f"{address}#/events")
    page.get_by_role("combobox").first.fill("star wars")
    page.wait_for_timeout(300)
    save(page.screenshot(), f"search-{kind}.png")


def save(shot: bytes, name: str) -> None:
    """In 128 colours: a third of the size, and no difference to the eye."""
    shown = f"images/page/{name}" in (DOCS / "page.md").read_text(encoding="utf-8")
    picture: Any = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(
        (IMAGES if shown else OTHERS) / name, optimize=True
    )


if __name__ == "__main__":
    main()
