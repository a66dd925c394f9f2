// Stands between RequireJS and the widget manager: both look for what they need beside this file, and nowhere else.
{
  const here = new URL(".", document.currentScript.src).href;
  document.currentScript.setAttribute("data-jupyter-widgets-cdn", here);
  requirejs.config({ baseUrl: here });
}
