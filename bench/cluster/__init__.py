"""Assembly: the cells of a run on a Dask cluster that exists already (extra `cluster`).

Only this package knows Dask. Workers get references and seeds, every session once; results come
back as rows and are stored by the process that started the run. Keys of real models are read on
the worker, from its environment; the run's money stays with the starter (`bench.cluster.purse`).
"""

from bench.cluster.running import Cluster

__all__ = ["Cluster"]
