"""Models a filter takes: machines, linear and identified systems, user functions.

A kind of model registers itself with `process`; all kinds are loaded together.
"""

from dalembert.estimate.models import identified as identified
from dalembert.estimate.models import machine as machine
from dalembert.estimate.models import user_model as user_model
