// Explorers in a page: a picture for every choice of some menus. The pictures were drawn when the site was built; they
// are in a script of their own, which is fetched from this site when the reader first picks something.
document.addEventListener("DOMContentLoaded", () => {
  const here = [...document.scripts].map((script) => script.src).find((src) => src.includes("explorers.js"));
  for (const box of document.querySelectorAll(".h2d-page-explorer")) {
    const form = box.querySelector("form");
    const [drawing, said, table] = ["drawing", "said", "table"].map((part) => box.querySelector(`.h2d-page-explorer-${part}`));
    form.hidden = false; // without this script it would do nothing
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => load(form.dataset.script).then(show, () => {
      said.textContent = "The pictures could not be loaded: reload the page.";
    }));

    const show = (pictures) => {
      const chosen = [...form.querySelectorAll("select")].map((menu) => menu.selectedIndex).join(" ");
      const [svg, words, warns, numbers] = pictures[chosen];
      drawing.innerHTML = svg;
      said.textContent = words;
      said.dataset.warns = warns;
      table.innerHTML = numbers;
    };
  }

  const loading = {};
  const load = (name) => {
    loading[name] ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = here.replace(/explorers\.js.*/, name);
      script.onload = () => resolve(window.h2dExplorers[name]);
      script.onerror = () => { delete loading[name]; script.remove(); reject(new Error(name)); };
      document.head.append(script);
    });
    return loading[name];
  };
});
