import matplotlib.pyplot as plt
def draw():
    fig, ax = plt.subplots()
    ax.plot([1,2,3],[1,4,9]); ax.set_xlabel("x")
    return fig
