// Lets the keyboard reach what scrolls sideways: wide formulas and, on a phone, drawings. The theme does the same
// for code and tables.
document.addEventListener("DOMContentLoaded", () => {
  const reach = () => {
    for (const box of document.querySelectorAll("mjx-container[display], figure.drawing")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  new ResizeObserver(reach).observe(document.body); // also when a formula, typeset late, makes the page longer
});
