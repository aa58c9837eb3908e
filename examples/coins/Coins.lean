import Coins.Fold
import Coins.Exchange
import Coins.Register
import Coins.Steps
