"""The game "Ten messages, pick the cause" in a real browser: by keyboard, for screen readers, without JavaScript."""

import pytest

from book import error_game
from tests.site.axe import FEW, LOOKS, faults_in, prepare, told

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "chapters/10-errors.html"
MESSAGES = error_game.load()


def right(message):
    return next(at for at, cause in enumerate(message.causes) if cause.right)


# What the reader sees and hears of the message that is shown.
STATE = """() => {
    const shown = [...document.querySelectorAll(".h2d-game-message")].filter((each) => !each.hidden);
    const status = shown[0].querySelector("[role=status]");
    return {
        count: shown.map((each) => each.querySelector(".h2d-game-count").textContent),
        active: document.activeElement.textContent,
        said: status.textContent,
        links: status.querySelectorAll("a[href^='#er-']").length,
        picked: shown[0].querySelectorAll("[data-picked]").length,
        next: shown[0].querySelector(".h2d-game-next").checkVisibility(),
        kept: [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie],
    };
}"""
FOCUS = "(at) => document.querySelectorAll('.h2d-game-message:not([hidden]) .h2d-game-choice')[at].focus()"


def test_the_keyboard_plays_it_through_and_every_answer_is_said(opened):
    asked = []
    opened.on(  # the browser fetches the icon of the tab when it likes
        "request", lambda request: "favicon" in request.url or asked.append(request.url)
    )
    before = opened.evaluate(STATE)
    opened.locator(".h2d-game-count").first.focus()
    for number, message in enumerate(MESSAGES, 1):
        state = opened.evaluate(STATE)
        assert state["count"] == [state["active"]] == [f"Message {number} of 10"]
        assert (state["said"], state["picked"], state["next"]) == ("", 0, False)
        for at, cause in enumerate(message.causes):
            if at and not cause.right:
                continue  # the first one, right or wrong, and the right one are picked
            opened.evaluate(FOCUS, at)
            opened.keyboard.press("Space")
            state = opened.evaluate(STATE)
            word = "Yes" if cause.right else "No"
            assert state["said"].startswith(f"{'ABCD'[at]}: {word}.")
            assert (
                state["active"].startswith(f"{word}: ")
                and state["next"] == bool(state["links"]) == cause.right
            )
            if cause.right:
                break
        opened.locator(".h2d-game-next:visible").focus()
        opened.keyboard.press("Enter")
    assert state["said"].endswith("That was the last message.")
    state = opened.evaluate(STATE)
    assert (state["count"], state["said"], state["picked"]) == (["Message 1 of 10"], "", 0)
    assert state["kept"] == before["kept"] and asked == []


def test_tab_leads_from_the_right_answer_to_its_link_and_to_the_next_message(opened):
    opened.locator(".h2d-game-choice:visible").nth(right(MESSAGES[0])).click()
    reached = []
    for _ in range(len(MESSAGES[0].causes) + 2):
        opened.keyboard.press("Tab")
        reached.append(
            opened.evaluate(
                "document.activeElement.getAttribute('href') || document.activeElement.textContent"
            )
        )
    assert reached.index("#er-launch") < reached.index("Next message")


def test_without_javascript_every_message_is_there_with_a_folded_answer(open_tab, url):
    page = open_tab(url + PAGE, scripts=False)
    answers = page.locator(".h2d-game-answer")
    assert page.locator(".h2d-game-message:visible").count() == answers.count() == len(MESSAGES)
    assert not page.locator(".h2d-game button").count()
    why = answers.first.locator(".h2d-game-why")
    assert not why.first.is_visible()
    answers.first.locator("summary").click()
    assert why.first.inner_text().startswith(f"{'ABCD'[right(MESSAGES[0])]}: Yes.")
    assert why.count() == len(MESSAGES[0].causes)


def test_axe_finds_no_serious_fault_in_the_game_and_it_fits_a_phone(open_tab, url):
    page = open_tab(url + PAGE, still=True)
    # The chapter around it and the frame are looked at elsewhere.
    page.evaluate("""() => {
        const game = document.querySelector(".h2d-game");
        const title = document.querySelector("article h1");
        document.querySelector("article").replaceChildren(title, game);
    }""")
    for at in range(len(MESSAGES[0].causes)):
        page.locator(".h2d-game-choice:visible").nth(at).click()
    prepare(page)
    found = faults_in(page, LOOKS[0], contrasts=FEW, part="main")
    assert not found, told(found)
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    sizes = page.locator(".h2d-game-choice:visible").evaluate_all("all => all.map(each => each.clientHeight)")
    assert min(sizes) >= 36  # a finger meets it
