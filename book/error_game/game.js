// "Ten messages, pick the cause": shows the messages of the page one after the other, with a button for each cause.
// What the reader picks is said at once, and kept nowhere.
document.addEventListener("DOMContentLoaded", () => {
  const game = document.querySelector(".h2d-game");
  if (!game) return;
  const messages = [...game.querySelectorAll(".h2d-game-message")];

  const made = (name, className, ...inside) => {
    const element = document.createElement(name);
    element.className = className;
    element.append(...inside);
    return element;
  };
  const button = (className, ...inside) => Object.assign(made("button", className, ...inside), { type: "button" });

  const show = (at) => {
    messages.forEach((message, each) => { message.hidden = each !== at; });
    messages[at].querySelector(".h2d-game-count").focus(); // a screen reader goes on from here
  };

  // Gives a message its buttons; what they say stands in the folded answer, which is not shown any more.
  const prepare = (message, at) => {
    const answer = message.querySelector(".h2d-game-answer");
    const ask = message.querySelector(".h2d-game-ask");
    const causes = message.querySelector(".h2d-game-causes");
    const said = made("div", "h2d-game-said");
    said.setAttribute("role", "status");
    const last = at === messages.length - 1;
    const next = button("h2d-game-next", last ? "Start again" : "Next message");
    next.hidden = true;
    ask.id = `h2d-game-ask-${at}`;
    causes.setAttribute("aria-labelledby", ask.id);
    answer.hidden = true;
    message.querySelector(".h2d-game-count").tabIndex = -1;

    const buttons = [...causes.children].map((item, cause) => {
      const words = [...item.childNodes].flatMap((node) => (node.nodeName === "P" ? [...node.childNodes] : [node]));
      const state = made("span", "h2d-game-state");
      const choice = button("h2d-game-choice", state, ...words);
      item.replaceChildren(choice);
      choice.addEventListener("click", () => {
        const why = answer.querySelector(`[data-cause="${cause}"]`);
        const right = "right" in why.dataset;
        state.textContent = right ? "Yes: " : "No: ";
        choice.dataset.picked = right ? "right" : "wrong";
        said.replaceChildren(...[...why.childNodes].map((node) => node.cloneNode(true)));
        if (!right) return;
        if (last) said.append(made("p", "", "That was the last message."));
        next.hidden = false;
      });
      return choice;
    });

    const forget = () => {
      for (const choice of buttons) {
        delete choice.dataset.picked;
        choice.querySelector(".h2d-game-state").textContent = "";
      }
      said.replaceChildren();
      next.hidden = true;
    };
    next.addEventListener("click", () => {
      if (last) forgetAll();
      show(last ? 0 : at + 1);
    });
    message.append(said, next);
    return forget;
  };

  const all = messages.map(prepare);
  const forgetAll = () => all.forEach((forget) => forget());
  messages.forEach((message, at) => { message.hidden = at > 0; }); // without taking the focus from the reader
});
